"""The rounds of a repair: candidates, the gate's verdicts, what is committed (Eq. 7, 9-11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from ...eventlog import events as ev
from ...projections.store import Memory
from ..edits import Edit, check, levenshtein
from ..effects import paired_effect
from ..gate import Purpose, Ranked, Verdict, compare, judge_calibration, judge_reuse, rank
from ..llm.facts import evidence_ids
from ..retrieval import receivers
from .scripts import Script, due, exactly
from .states import change
from .trajectories import Ran, shown
from .walk import Walk


@attrs.frozen(kw_only=True)
class Trial:
    """A validation task with the executions of the parent and of no memory on it."""

    task: str
    purpose: Purpose
    parent: Ran
    none: Ran


@attrs.frozen(kw_only=True)
class Case:
    """A repair that was started.

    ``roles`` are given its candidates, ``trials`` hold the trigger first, ``diagnosed`` the steps
    that the diagnosis cited.
    """

    memory: Memory
    roles: tuple[str, ...]
    kind: ev.RepairKind
    trials: tuple[Trial, ...]
    diagnosed: tuple[str, ...]
    name: str
    cause: str


@attrs.frozen(kw_only=True)
class Made:
    """A candidate that could be made, and the id of its proposal."""

    round: int
    number: int
    edit: Edit
    body: str
    cause: str


@attrs.frozen(kw_only=True)
class Judged:
    """A candidate with its verdict and the id of the event that holds it."""

    made: Made
    ranked: Ranked
    cause: str


def carry_out(walk: Walk, case: Case) -> Script[None]:
    """Up to R rounds; the first with an acceptable candidate commits one, or nothing changes.

    Unvalidated, the first candidate that can be made is acceptable.
    """
    memory = case.memory
    displayed = _displayed(walk, case)
    tried = [memory.body]
    round_ = 0
    for round_ in range(1, walk.settings.rounds + 1):
        fixed = {
            "memory": memory.id,
            "version": memory.version,
            "repair": case.name,
            "round": round_,
        }
        event, cause = yield from due(ev.RepairProposed, case.cause, **fixed)
        walk.answered(event, "repair", receivers(case.roles), event.edits == 0)
        walk.require(
            0 <= event.edits <= walk.settings.candidates,
            f"{event.edits} edits, at most {walk.settings.candidates} may be proposed",
        )
        if event.edits <= 0:
            break
        accepted: list[Judged] = []
        for number in range(1, event.edits + 1):
            made = yield from _make(walk, case, fixed | {"number": number}, tried, displayed, cause)
            if made is None:
                continue
            if not walk.settings.validates_repairs:
                yield from _commit(walk, case, made, None, made.cause)
                return
            judged = yield from _judge(walk, case, made)
            if judged.ranked.verdict.accepted:
                accepted.append(judged)
                if case.kind == "calibration":
                    break
        if accepted:
            chosen = _choose(case, accepted)
            yield from _commit(walk, case, chosen.made, _earned(case, chosen), chosen.cause)
            return
    ended = yield from _end(case, "failed" if case.kind == "reuse" else "kept", round_, case.cause)
    if case.kind == "reuse":
        yield from change(walk, memory.id, ended, repair_failed=True)


def _displayed(walk: Walk, case: Case) -> tuple[str, ...]:
    """The steps an edit may cite, of the runs that the repair decision was shown."""
    source = walk.first.get(case.memory.source_execution)
    if source is None:
        walk.broken(f"the execution {case.memory.source_execution[:12]} it stems from is missing")
    trigger = case.trials[0]
    return tuple(
        each
        for label, ran in (("source", source), ("none", trigger.none), ("with", trigger.parent))
        for each in evidence_ids(label, shown(walk.blob(ran.trajectory)))
    )


def _make(
    walk: Walk,
    case: Case,
    fixed: dict[str, Any],
    tried: list[str],
    displayed: Sequence[str],
    cause: str,
) -> Script[Made | None]:
    """One candidate; None if it could not be made."""
    event, proposed = yield from due(ev.CandidateProposed, cause, **fixed)
    edit = Edit(
        operation=event.operation,
        anchor=event.anchor,
        text=event.edit,
        cited=event.cited,
        correction=event.correction,
    )
    body, problem = check(case.memory.body, edit, tried, displayed)
    walk.same("body", event.body, body)
    walk.same("problem", event.problem, problem)
    if event.problem:
        return None
    tried.append(event.body)
    return Made(round=event.round, number=event.number, edit=edit, body=event.body, cause=proposed)


def _judge(walk: Walk, case: Case, made: Made) -> Script[Judged]:
    """A candidate's replays, and the verdict of the gate on them."""
    walk.current.asked += len(case.trials)
    judged, cause = yield from due(
        ev.CandidateJudged,
        made.cause,
        memory=case.memory.id,
        version=case.memory.version,
        repair=case.name,
        round=made.round,
        number=made.number,
    )
    verdict = _verdict(walk, case, made, judged)
    ranked = Ranked(verdict=verdict, distance=judged.distance, round=made.round, number=made.number)
    return Judged(made=made, ranked=ranked, cause=cause)


def _verdict(walk: Walk, case: Case, made: Made, event: ev.CandidateJudged) -> Verdict:
    """The gate's verdict on a candidate, which the event must hold."""
    if len(event.evidence) != len(case.trials):
        walk.broken("evidence does not name one execution per validation task")
    comparisons = []
    for trial, event_id in zip(case.trials, event.evidence, strict=True):
        ran = walk.ran("evidence", event_id, trial.task, case.roles, made.body)
        comparisons.append(
            compare(trial.task, trial.purpose, ran.score, trial.parent.score, trial.none.score)
        )
    walk.same("comparisons", event.comparisons, tuple(comparisons))
    epsilon = walk.settings.epsilon
    if case.kind == "calibration" and not any(
        paired_effect(each.parent, each.none) < -epsilon for each in comparisons
    ):
        walk.broken("the parent did no harm on any task it is repaired for")
    verdict = (
        judge_calibration(comparisons, epsilon=epsilon)
        if case.kind == "calibration"
        else judge_reuse(
            comparisons,
            epsilon=epsilon,
            cites_diagnosed=made.edit.cites_any(case.diagnosed),
            states_correction=made.edit.states_correction,
            changes_body=True,
        )
    )
    for field in attrs.fields_dict(Verdict):
        walk.same(field, getattr(event, field), getattr(verdict, field))
    walk.same("distance", event.distance, _distance(case.memory.body, made.body))
    return verdict


def _choose(case: Case, accepted: Sequence[Judged]) -> Judged:
    """The best accepted candidate; in calibration the first."""
    if case.kind == "calibration":
        return accepted[0]
    best = rank(each.ranked for each in accepted)[0]
    return next(each for each in accepted if each.ranked is best)


def _earned(case: Case, chosen: Judged) -> ev.Capability | None:
    """What an improving candidate adds to the capability record."""
    related = tuple(trial.task for trial in case.trials if trial.purpose == "related")
    if not chosen.ranked.verdict.improving or not related:
        return None
    return ev.Capability(
        id=f"c{len(case.memory.capabilities) + 1}",
        correction=chosen.made.edit.correction,
        tasks=related,
    )


def _commit(
    walk: Walk, case: Case, made: Made, earned: ev.Capability | None, cause: str
) -> Script[None]:
    """A candidate becomes the next version."""
    memory = case.memory
    revised = ev.MemoryRevised(
        memory=memory.id,
        version=memory.version + 1,
        body=made.body,
        repair=case.name,
        round=made.round,
        number=made.number,
        capability=earned,
    )
    cause = yield from exactly(revised, cause)
    yield from change(walk, memory.id, cause, parent=memory.version)
    yield from _end(case, "committed", made.round, cause)


def _end(case: Case, outcome: ev.RepairOutcome, rounds: int, cause: str) -> Script[str]:
    ended = ev.RepairEnded(
        memory=case.memory.id,
        version=case.memory.version,
        repair=case.name,
        outcome=outcome,
        rounds=rounds,
    )
    return (yield from exactly(ended, cause))


def _distance(a: str, b: str) -> int:
    """Levenshtein distance, without the ends that both have in common: an edit is local."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return levenshtein(a, b)
