"""How a repair begins: its trigger and the validation sets, fixed over its rounds (Eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from ...eventlog import events as ev
from ...projections.store import Memory
from ..gate import Purpose
from ..retention import draw_retention, pool, saturated
from .candidates import Case, Trial, carry_out
from .scripts import Script, due
from .trajectories import Ran
from .walk import Walk, earlier


@attrs.frozen(kw_only=True)
class Harm:
    """What a repair starts from: who was given the rule, the task with it and with none."""

    roles: tuple[str, ...]
    with_memory: Ran
    without: Ran


def repair_after_reuse(
    walk: Walk, memory: Memory, harm: Harm, diagnosed: ev.ContentDiagnosed, cause: str
) -> Script[None]:
    """A repair of a rule with a supported defect; if it fails the memory is retired."""
    task = walk.current.task
    fixed = _fixed(memory, task) | {"kind": "reuse", "trigger": task, "calibration": ()}
    if walk.settings.validates_repairs:
        event, started = yield from _start_with_history(walk, memory, fixed, cause)
    else:
        nothing = {"retention": (), "related": (), "skipped": ()}
        event, started = yield from due(ev.RepairStarted, cause, **fixed, **nothing)
    trials = _trials(
        walk,
        event,
        memory,
        harm.roles,
        [
            (task, "trigger"),
            *((each, "retention") for each in event.retention),
            *((each, "related") for each in event.related),
        ],
    )
    walk.same(
        "evidence of the trigger",
        (trials[0].parent.event_id, trials[0].none.event_id),
        (harm.with_memory.event_id, harm.without.event_id),
    )
    for trial in trials:
        if trial.purpose == "related" and saturated(trial.parent.score, trial.none.score):
            walk.problem(f"related task {trial.task} can show nothing")
    case = Case(
        memory=memory,
        roles=harm.roles,
        kind="reuse",
        trials=trials,
        diagnosed=diagnosed.cited,
        name=event.repair,
        cause=started,
    )
    yield from carry_out(walk, case)


def _start_with_history(
    walk: Walk, memory: Memory, fixed: dict[str, Any], cause: str
) -> Script[tuple[ev.RepairStarted, str]]:
    """The start of a repair that is tried on H1 and H2, which it must have drawn by the rules."""
    settings, current = walk.settings, walk.current
    exclude = {current.task, memory.source_task}
    before = walk.now.history.before(current.index)
    helped = pool(walk.now.evidence.of_all_versions(memory.id, memory.version), memory.capabilities)
    retention = draw_retention(
        helped,
        before=before,
        exclude=exclude,
        n1=settings.n1,
        seed=settings.seed,
        memory=memory.id,
        trigger=current.task,
    )
    event, started = yield from due(ev.RepairStarted, cause, **fixed, retention=retention)
    outside = sum(task.id not in exclude and task.id not in helped for task in before)
    tried = len(event.related) + len(event.skipped)
    tries = settings.related_tries if settings.n2 else 0
    walk.require(
        earlier(walk, (*event.related, *event.skipped), {*exclude, *helped}),
        "related and skipped are not earlier tasks outside the pool, without trigger and source",
    )
    walk.require(len(event.related) <= settings.n2, f"more than {settings.n2} related tasks")
    walk.require(tried <= tries, f"more than {tries} tasks were tried")
    walk.require(
        len(event.related) == settings.n2 or tried >= min(tries, outside),
        "related tasks are missing although more could be tried",
    )
    current.asked += 2 * (len(event.retention) + tried)
    return event, started


def repair_after_calibration(
    walk: Walk, memory: Memory, pairs: Sequence[tuple[str, Ran, Ran]], cause: str
) -> Script[None]:
    """A repair of a rule that did harm in calibration; ``pairs`` hold the trigger first."""
    tasks = tuple(task for task, _, _ in pairs)
    event, started = yield from due(
        ev.RepairStarted,
        cause,
        **_fixed(memory, tasks[0]),
        kind="calibration",
        trigger=tasks[0],
        retention=(),
        related=(),
        calibration=tasks,
        skipped=(),
        evidence=tuple(ran.event_id for _, *pair in pairs for ran in pair),
    )
    roles = (memory.owner,)
    case = Case(
        memory=memory,
        roles=roles,
        kind="calibration",
        trials=_trials(walk, event, memory, roles, [(task, "calibration") for task in tasks]),
        diagnosed=(),
        name=event.repair,
        cause=started,
    )
    yield from carry_out(walk, case)


def _fixed(memory: Memory, trigger: str) -> dict[str, Any]:
    return {
        "memory": memory.id,
        "version": memory.version,
        "repair": f"{memory.id}.v{memory.version}@{trigger}",
    }


def _trials(
    walk: Walk,
    event: ev.RepairStarted,
    memory: Memory,
    roles: Sequence[str],
    tasks: Sequence[tuple[str, Purpose]],
) -> tuple[Trial, ...]:
    if len(event.evidence) != 2 * len(tasks):
        walk.broken("evidence does not name two executions per validation task")
    pairs = zip(event.evidence[::2], event.evidence[1::2], strict=True)
    return tuple(
        Trial(
            task=task,
            purpose=purpose,
            parent=walk.ran("evidence", parent, task, roles, memory.body),
            none=walk.ran("evidence", none, task),
        )
        for (task, purpose), (parent, none) in zip(tasks, pairs, strict=True)
    )
