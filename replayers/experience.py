"""Lines 16-27 of Algorithm 1: extract, match, attach or admit and calibrate (§3.1, A.1, A.2)."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from ..decisions import llm
from ..decisions.retention import MAX_SCORE, rank_related
from ..decisions.retrieval import query_for_calibration, retrieve, text_of
from ..eventlog import events as ev
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .candidates import Trial
from .executions import Execution
from .repair import make_trial, repair_after_calibration
from .reuse import Assessment, apply_lifecycle, assess, measure, record_effect
from .run import Run
from .showing import listed, show

ANY_SIMILARITY = -1.0
"""Identity has no threshold: the judge decides, not the cosine."""


@attrs.frozen(kw_only=True)
class Proposal:
    """A rule a role's trajectory taught, not yet a memory."""

    role: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    cause: str

    @property
    def text(self) -> str:
        """Rule and conditions in words, for the context of an attachment."""
        lines = [f"Rule: {self.body}"]
        lines += [f"Use when: {condition}" for condition in self.use_when]
        lines += [f"Avoid when: {condition}" for condition in self.avoid_when]
        return "\n".join(lines)


def extract(run: Run, task: TaskRecord, execution: Execution, cause: str) -> list[Proposal]:
    """At most one rule per role that spoke, in the order of the roles (§3.1)."""
    proposals = []
    for role in (role for role in run.roles if role in execution.contexts):
        own = [s for s in execution.steps if s.role == role and s.kind == "message"]
        others = [s for s in execution.steps if s.role != role]
        answer = run.decider.decide(
            llm.EXTRACTION,
            llm.ExtractionFacts(
                role=role,
                task_text=run.text_of(task),
                context=execution.contexts[role],
                role_messages=show(own),
                outgoing=show(others),
                score=execution.score,
                maximum=MAX_SCORE,
            ),
            role=role,
            cause=cause,
        )
        found = answer.value
        decided = run.emit(
            ev.ExtractionDecided(
                index=task.index,
                task=task.id,
                role=role,
                store=found.store,
                body=found.body,
                use_when=found.use_when,
                avoid_when=found.avoid_when,
                fallback=answer.fallback,
                replies=answer.replies,
                evidence=answer.evidence,
            ),
            cause,
        )
        if found.store:
            proposals.append(
                Proposal(
                    role=role,
                    body=found.body,
                    use_when=found.use_when,
                    avoid_when=found.avoid_when,
                    cause=decided.event_id,
                )
            )
    return proposals


def match_identity(run: Run, task: TaskRecord, proposal: Proposal) -> tuple[Memory | None, str]:
    """The memory of the same role that already is this rule, inactive ones included (Eq. 3).

    Returns:
        the memory or None, and the id of the event to go on from.
    """
    owned = run.state.store.owned_by(proposal.role)
    k_id = run.settings.k_id
    if not owned or k_id == 0:
        return None, proposal.cause
    query = text_of(proposal.body, proposal.use_when)
    near = run.similar_memories(query, k_id, owned, proposal.cause)
    candidates = retrieve(near, [m for m in owned if m.id in near], theta=ANY_SIMILARITY, k=k_id)
    answer = run.decider.decide(
        llm.IDENTITY,
        llm.IdentityFacts(
            role=proposal.role,
            body=proposal.body,
            use_when=proposal.use_when,
            avoid_when=proposal.avoid_when,
            candidates=tuple(listed(run.state.store[c.memory]) for c in candidates),
        ),
        role=proposal.role,
        cause=proposal.cause,
    )
    judged = run.emit(
        ev.IdentityJudged(
            index=task.index,
            task=task.id,
            role=proposal.role,
            candidates=candidates,
            matched=answer.value.matched,
            reason=answer.value.reason,
            fallback=answer.fallback,
            replies=answer.replies,
            evidence=answer.evidence,
        ),
        proposal.cause,
    )
    matched = answer.value.matched
    return (run.state.store[matched] if matched else None), judged.event_id


def attach(
    run: Run,
    task: TaskRecord,
    memory: Memory,
    proposal: Proposal,
    assessed: Collection[str],
    cause: str,
) -> Assessment | None:
    """Attach a proposal to the memory it repeats, and evaluate that memory on the task (A.1).

    Returns:
        the assessment, or None when this task can say nothing new about the memory.
    """
    note = ""
    if memory.id in assessed:
        note = "already assessed on this task"
    elif memory.source_task == task.id:
        note = "this task is its source"
    attached = run.emit(
        ev.ExperienceAttached(
            memory=memory.id,
            version=memory.version,
            task=task.id,
            body=proposal.body,
            use_when=proposal.use_when,
            avoid_when=proposal.avoid_when,
            note=note,
        ),
        cause,
    )
    if note:
        return None
    context = f"{run.text_of(task)}\n\n{proposal.text}"
    return assess(
        run,
        memory,
        task,
        "attachment",
        attached.event_id,
        roles=(memory.owner,),
        contexts=(context,),
    )


def admit(
    run: Run, task: TaskRecord, proposal: Proposal, execution: Execution, cause: str
) -> tuple[Memory, str]:
    """Make the proposal a provisional memory of its role, version 1."""
    admitted = run.emit(
        ev.MemoryAdmitted(
            memory=run.state.store.next_id(),
            role=proposal.role,
            body=proposal.body,
            use_when=proposal.use_when,
            avoid_when=proposal.avoid_when,
            source_task=task.id,
            source_execution=execution.request,
        ),
        cause,
    )
    assert isinstance(admitted.event, ev.MemoryAdmitted)
    return run.state.store[admitted.event.memory], admitted.event_id


def calibrate(run: Run, task: TaskRecord, memory: Memory, cause: str) -> None:
    """Try a new memory on the nearest earlier tasks; harm there triggers repair directly (A.2)."""
    wanted = run.settings.n2
    before = run.state.history.before(task.index)
    if not before or wanted == 0:
        return
    exclude = {memory.source_task}
    query = query_for_calibration(memory.body, memory.use_texts, run.text_of(task))
    near = run.similar_tasks(query, wanted, before, cause)
    measured = [earlier for earlier in before if earlier.id in near]
    chosen = rank_related(near, before=measured, exclude=exclude)[:wanted]
    drawn = run.emit(
        ev.CalibrationDrawn(memory=memory.id, version=memory.version, tasks=tuple(chosen)), cause
    )
    trials: list[Trial] = []
    harmed: list[tuple[Trial, str]] = []
    for task_id in chosen:
        trial = make_trial(run, memory, (memory.owner,), task_id, "calibration", drawn.event_id)
        trials.append(trial)
        recorded, negative = _record(run, memory, trial, drawn.event_id)
        if negative:
            harmed.append((trial, recorded))
    if harmed:
        trigger, recorded = harmed[0]
        others = [trial for trial in trials if trial is not trigger]
        repair_after_calibration(run, run.state.store[memory.id], [trigger, *others], recorded)


def _record(run: Run, memory: Memory, trial: Trial, cause: str) -> tuple[str, bool]:
    pair = (trial.parent, trial.none)
    measured = measure(run, memory, (memory.owner,), trial.task, "calibration", pair, cause)
    recorded = record_effect(
        run, measured, label="NONE", avoid=False, context=None, cause=measured.cause
    )
    apply_lifecycle(run, memory.id, recorded)
    return recorded, measured.sign == "negative"
