"""Algorithm 1: one task cycle of DiscernMem, line by line."""

from __future__ import annotations

from typing import Final

from ..eventlog import events as ev
from ..eventlog.codec import digest
from ..projections.history import TaskRecord
from ..projections.state import STATE_VERSION
from .benchmarks.base import Task
from .experience import admit, attach, calibrate, extract, match_identity
from .journal import Observation
from .progress import TaskBegun
from .repair import repair_after_reuse
from .reuse import Assessment, assess, record_and_learn
from .run import Run
from .solving import execute

CONTENT: Final = "CONTENT"


def run_task(run: Run, run_id: str, index: int, task: Task | None) -> float:
    """Solve task ``index``, score it, then learn from it; returns the original score s_t.

    ``task`` is what the stream hands out, None when the log already holds it (offline).
    The numbers on the right are the lines of Algorithm 1.
    """
    run.begin_task(index)
    record, cause = _start(run, index, task)
    run.journal.tell(TaskBegun(index=index, task=record.id))
    execution, uses, scored = execute(run, record, cause)  # 3-4

    labels: set[ev.Label] = set()  # 5
    assessed: set[str] = set()
    for use in uses:  # 7
        evidence = assess(
            run, use.memory, record, "reuse", use.cause, roles=use.roles, contexts=use.contexts
        )  # 8
        labels.add(evidence.attribution.label)  # 9-10
        assessed.add(use.memory.id)
        learn_from(run, evidence)  # 11-14

    if CONTENT not in labels:  # 17
        for proposal in extract(run, record, execution, scored):  # 18
            known, cause = match_identity(run, record, proposal)  # 19
            if known is not None:  # 20
                attached = attach(run, record, known, proposal, assessed, cause)  # 21
                if attached is not None:
                    learn_from(run, attached)
            else:
                memory, cause = admit(run, record, proposal, execution, cause)  # 23
                calibrate(run, record, memory, cause)  # 24

    _complete(run, run_id, record, execution.score, scored)
    return execution.score  # 28


def learn_from(run: Run, evidence: Assessment) -> None:
    """RecordAndBLM, then DMRRepair if the label says so (lines 11-14)."""
    record_and_learn(run, evidence)  # 11
    if evidence.attribution.label == CONTENT:  # 12
        repair_after_reuse(run, evidence)  # 13


def _start(run: Run, index: int, task: Task | None) -> tuple[TaskRecord, str]:
    def ask() -> Observation:
        assert task is not None
        text = task.text.encode()
        event = ev.TaskStarted(
            index=index,
            task=task.id,
            domain=task.domain,
            text=ev.BlobRef(digest(text)),
        )
        return Observation(event, (text,))

    started = run.journal.observe(
        "", ask, cause=None, what=f"task {index}", stream=f"task:{index}", at_hand=True
    )
    assert isinstance(started.event, ev.TaskStarted)
    return run.state.history[started.event.task], started.event_id


def _complete(run: Run, run_id: str, record: TaskRecord, score: float, cause: str) -> None:
    completed = run.emit(
        ev.TaskCompleted(
            index=record.index, task=record.id, score=score, executions_asked=run.asked
        ),
        cause,
    )
    run.emit(
        ev.StoreCheckpointed(
            run=run_id,
            index=record.index,
            state_version=STATE_VERSION,
            state_hash=run.serialiser.state_hash(run.state),
        ),
        completed.event_id,
    )
