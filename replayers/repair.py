"""DMRRepair of Algorithm 1: how a repair begins, and the tasks that will judge it (§3.2, A.2).

A reuse-triggered repair and a calibration repair share everything but their validation tasks,
their gate, which accepted candidate wins, and what failure means.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..decisions import llm
from ..decisions.gate import Purpose
from ..decisions.retention import draw_retention, pool, rank_related, saturated
from ..decisions.retrieval import query_for_related
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .candidates import Case, Repair, Trial
from .reuse import Assessment
from .run import Run


def repair_after_reuse(run: Run, assessment: Assessment) -> None:
    """Repair a memory whose harmful in-scope use has a supported defect."""
    assert assessment.diagnosis is not None
    measured = assessment.measured
    memory = run.state.store[measured.memory.id]
    trigger = Trial(
        task=measured.task,
        purpose="trigger",
        parent=measured.with_memory,
        none=measured.without,
    )
    history: list[Trial] = []
    skipped: tuple[str, ...] = ()
    if run.settings.validates_repairs:
        history, skipped = _history(run, assessment, memory)
    case = Case(
        memory=memory,
        roles=measured.roles,
        kind="reuse",
        trials=(trigger, *history),
        skipped=skipped,
        defect=assessment.diagnosis,
        cause=assessment.cause,
    )
    Repair(run, case).carry_out()


def repair_after_calibration(run: Run, memory: Memory, trials: Sequence[Trial], cause: str) -> None:
    """Repair a new memory that did harm in calibration; failing leaves it as it is (A.2)."""
    case = Case(
        memory=memory,
        roles=(memory.owner,),
        kind="calibration",
        trials=tuple(trials),
        defect=llm.Diagnosis(defect="", description="", cited=()),
        cause=cause,
    )
    Repair(run, case).carry_out()


def make_trial(
    run: Run,
    memory: Memory,
    roles: Sequence[str],
    task_id: str,
    purpose: Purpose,
    cause: str,
) -> Trial:
    """Replay a validation task with the memory, given to ``roles``, and with none."""
    return Trial(
        task=run.state.history[task_id],
        purpose=purpose,
        parent=run.replay(task_id, memory, roles, cause, why=purpose),
        none=run.replay_without(task_id, cause, why=purpose),
    )


def _history(
    run: Run, assessment: Assessment, memory: Memory
) -> tuple[list[Trial], tuple[str, ...]]:
    """H1 and H2, drawn once for all rounds, and the tasks that could show nothing (Eq. 8)."""
    measured = assessment.measured
    before = run.state.history.before(measured.task.index)
    exclude = {measured.task.id, memory.source_task}
    effects = run.state.evidence.of_all_versions(memory.id, memory.version)
    known = pool(effects, memory.capabilities)
    retention = draw_retention(
        known,
        before=before,
        exclude=exclude,
        n1=run.settings.n1,
        seed=run.settings.seed,
        memory=memory.id,
        trigger=measured.task.id,
    )
    kept = [
        make_trial(run, memory, measured.roles, task, "retention", assessment.cause)
        for task in retention
    ]
    related, skipped = _related(run, assessment, memory, before, exclude, known)
    return [*kept, *related], skipped


def _related(
    run: Run,
    assessment: Assessment,
    memory: Memory,
    before: Sequence[TaskRecord],
    exclude: set[str],
    known: Sequence[str],
) -> tuple[list[Trial], tuple[str, ...]]:
    """H2: the nearest earlier tasks outside the pool that can still show something (Eq. 8)."""
    assert assessment.diagnosis is not None
    wanted = run.settings.n2
    outside = [task for task in before if task.id not in exclude and task.id not in known]
    query = query_for_related(
        memory.body,
        memory.use_texts,
        memory.avoid_texts,
        memory.capabilities,
        assessment.diagnosis.description,
    )
    tries = run.settings.related_tries if wanted else 0
    near = run.similar_tasks(query, tries, outside, assessment.cause)
    measured = [task for task in outside if task.id in near]
    ranked = rank_related(near, before=measured, exclude=exclude, pool=known)
    related: list[Trial] = []
    skipped: list[str] = []
    for task_id in ranked[:tries]:
        if len(related) == wanted:
            break
        trial = make_trial(
            run, memory, assessment.measured.roles, task_id, "related", assessment.cause
        )
        if saturated(trial.parent.score, trial.none.score):
            skipped.append(task_id)
        else:
            related.append(trial)
    return related, tuple(skipped)
