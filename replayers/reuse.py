"""AssessReuse and RecordAndBLM of Algorithm 1: what a use did, why, and what follows for it."""

from __future__ import annotations

import attrs

from ..decisions import llm
from ..decisions.attribution import (
    Attribution,
    Scope,
    attribute,
    effective_scope,
    needs_diagnosis,
    supported,
)
from ..decisions.boundary import may_generalise, new_avoid, new_uses, qualifying_positive
from ..decisions.effects import enters_record, paired_effect, sign
from ..decisions.lifecycle import transition
from ..decisions.retrieval import observed, receivers
from ..eventlog import events as ev
from ..eventlog.codec import digest
from ..projections.evidence import Effect
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .executions import Execution
from .run import Run
from .showing import shown


@attrs.frozen(kw_only=True)
class Measured:
    """The paired effect of a memory on a task and the two executions it comes from (Eq. 4).

    ``roles`` were given the memory; ``cause`` is the id of the `EffectMeasured` event.
    """

    memory: Memory
    roles: tuple[str, ...]
    task: TaskRecord
    origin: ev.Origin
    with_memory: Execution
    without: Execution
    effect: float
    sign: ev.Sign
    changed: bool
    cause: str


@attrs.frozen(kw_only=True)
class Assessment:
    """The evidence e_u of one use: its measured effect and its attribution.

    ``cause`` is the id of the `UseAttributed` event.
    """

    measured: Measured
    context: str
    scope: Scope
    diagnosis: llm.Diagnosis | None
    attribution: Attribution
    cause: str


def measure(
    run: Run,
    memory: Memory,
    roles: tuple[str, ...],
    task: TaskRecord,
    origin: ev.Origin,
    pair: tuple[Execution, Execution],
    cause: str,
) -> Measured:
    """Record the paired effect of a memory on a task; ``pair`` is with it, and with none."""
    with_memory, without = pair
    effect = paired_effect(with_memory.score, without.score)
    its_sign = sign(effect, run.settings.epsilon)
    changed = not with_memory.same_course(without)
    recorded = run.emit(
        ev.EffectMeasured(
            memory=memory.id,
            version=memory.version,
            task=task.id,
            origin=origin,
            score_with=with_memory.score,
            score_without=without.score,
            effect=effect,
            sign=its_sign,
            changed=changed,
            execution_with=with_memory.request,
            execution_without=without.request,
            evidence=(with_memory.event_id, without.event_id),
        ),
        cause,
    )
    return Measured(
        memory=memory,
        roles=roles,
        task=task,
        origin=origin,
        with_memory=with_memory,
        without=without,
        effect=effect,
        sign=its_sign,
        changed=changed,
        cause=recorded.event_id,
    )


def assess(
    run: Run,
    memory: Memory,
    task: TaskRecord,
    origin: ev.Origin,
    cause: str,
    *,
    roles: tuple[str, ...],
    contexts: tuple[str, ...],
) -> Assessment:
    """Replay ``task`` with only ``memory`` and with none, and attribute the difference (§3.2).

    ``roles`` are given the memory in the replay; ``contexts`` is what they had seen before.
    """
    without = run.baseline(task.id, cause)
    with_memory = run.replay(task.id, memory, roles, cause, why=origin)
    measured = measure(run, memory, roles, task, origin, (with_memory, without), cause)
    scope, cause = _check_scope(run, measured, contexts)
    diagnosis = None
    defect_supported = False
    if needs_diagnosis(measured.sign, scope):
        diagnosis, defect_supported, cause = _diagnose(run, measured, cause)
    attribution = attribute(measured.sign, scope, defect_supported)
    attributed = run.emit(
        ev.UseAttributed(
            memory=memory.id,
            version=memory.version,
            task=task.id,
            label=attribution.label,
            reason=attribution.reason,
        ),
        cause,
    )
    return Assessment(
        measured=measured,
        context=observed(contexts),
        scope=scope,
        diagnosis=diagnosis,
        attribution=attribution,
        cause=attributed.event_id,
    )


def _check_scope(run: Run, measured: Measured, contexts: tuple[str, ...]) -> tuple[Scope, str]:
    memory, cause = measured.memory, measured.cause
    answer = run.decider.decide(
        llm.SCOPE,
        llm.ScopeFacts(
            role=receivers(measured.roles),
            contexts=contexts,
            body=memory.body,
            use_when=memory.use_texts,
            avoid_when=memory.avoid_texts,
        ),
        role=receivers(measured.roles),
        cause=cause,
    )
    scope = effective_scope(answer.value, memory.use_texts, memory.avoid_texts)
    content = observed(contexts).encode()
    checked = run.emit(
        ev.ScopeChecked(
            memory=memory.id,
            version=memory.version,
            task=measured.task.id,
            context=ev.BlobRef(digest(content)),
            use=scope.use,
            avoid=scope.avoid,
            boundary=scope.boundary,
            fallback=answer.fallback,
            replies=answer.replies,
            evidence=answer.evidence,
        ),
        cause,
        content,
    )
    return scope, checked.event_id


def _diagnose(run: Run, measured: Measured, cause: str) -> tuple[llm.Diagnosis, bool, str]:
    memory, task = measured.memory, measured.task
    facts = llm.DiagnosisFacts(
        role=receivers(measured.roles),
        task_text=run.text_of(task),
        body=memory.body,
        use_when=memory.use_texts,
        avoid_when=memory.avoid_texts,
        steps_with=shown(measured.with_memory),
        steps_without=shown(measured.without),
        score_with=measured.with_memory.score,
        score_without=measured.without.score,
    )
    answer = run.decider.decide(llm.DIAGNOSIS, facts, role=facts.role, cause=cause)
    found = answer.value
    holds, problem = supported(found.defect, found.description, found.cited, facts.displayed_ids)
    diagnosed = run.emit(
        ev.ContentDiagnosed(
            memory=memory.id,
            version=memory.version,
            task=task.id,
            defect=found.defect,
            description=found.description,
            cited=found.cited,
            supported=holds,
            problem=problem,
            fallback=answer.fallback,
            replies=answer.replies,
            evidence=answer.evidence,
        ),
        cause,
    )
    return found, holds, diagnosed.event_id


def record_and_learn(run: Run, assessment: Assessment) -> None:
    """Record the effect, grow the boundary, apply the lifecycle (RecordAndBLM; Eq. 12, A.1)."""
    measured = assessment.measured
    memory = measured.memory
    effects = run.state.evidence.of(memory.id, memory.version)
    if not enters_record(measured.task.id, memory.source_task, effects):
        return
    # If nobody could say whether the context fits, it is no evidence for use conditions.
    context = ev.BlobRef(digest(assessment.context.encode())) if assessment.scope.known else None
    recorded = record_effect(
        run,
        measured,
        label=assessment.attribution.label,
        avoid=assessment.scope.avoid,
        context=context,
        cause=assessment.cause,
    )
    boundary = new_avoid(memory.avoid_texts, assessment.attribution)
    if boundary is not None:
        _add_condition(run, memory, "avoid_when", boundary, "scope check", assessment.cause)
    effects = run.state.evidence.of(memory.id, memory.version)
    if may_generalise(effects[-1], effects, run.settings.n_plus):
        _generalise(run, run.state.store[memory.id], effects, recorded)
    apply_lifecycle(run, memory.id, recorded, attached=measured.origin == "attachment")


def record_effect(
    run: Run,
    measured: Measured,
    *,
    label: ev.Label,
    avoid: bool,
    context: ev.BlobRef | None,
    cause: str,
) -> str:
    """Enter an effect into the record E of the memory's version; returns the event's id."""
    return run.emit(
        ev.EffectRecorded(
            memory=measured.memory.id,
            version=measured.memory.version,
            task=measured.task.id,
            origin=measured.origin,
            effect=measured.effect,
            sign=measured.sign,
            label=label,
            avoid=avoid,
            changed=measured.changed,
            context=context,
        ),
        cause,
    ).event_id


def _generalise(run: Run, memory: Memory, effects: tuple[Effect, ...], cause: str) -> None:
    positive = qualifying_positive(effects)
    contexts = tuple(run.journal.log.text(e.context) for e in positive if e.context is not None)
    answer = run.decider.decide(
        llm.GENERALISATION,
        llm.GeneralisationFacts(
            role=memory.owner,
            body=memory.body,
            use_when=memory.use_texts,
            avoid_when=memory.avoid_texts,
            contexts=contexts,
        ),
        role=memory.owner,
        cause=cause,
    )
    generalised = run.emit(
        ev.UseConditionsGeneralised(
            memory=memory.id,
            version=memory.version,
            tasks=tuple(effect.task for effect in positive),
            returned=answer.value,
            fallback=answer.fallback,
            replies=answer.replies,
            evidence=(*answer.evidence, *(effect.event_id for effect in positive)),
        ),
        cause,
    )
    for text in new_uses(memory.use_texts, answer.value):
        _add_condition(run, memory, "use_when", text, "generalisation", generalised.event_id)


def _add_condition(
    run: Run,
    memory: Memory,
    kind: ev.ConditionKind,
    text: str,
    source: ev.ConditionSource,
    cause: str,
) -> None:
    run.emit(
        ev.ConditionAdded(
            memory=memory.id, version=memory.version, kind=kind, text=text, source=source
        ),
        cause,
    )


def apply_lifecycle(
    run: Run,
    memory_id: str,
    cause: str,
    *,
    attached: bool = False,
    repair_failed: bool = False,
    repaired: Memory | None = None,
) -> None:
    """Apply the first rule of A.1 that holds now, if any.

    Args:
        run: the run.
        memory_id: whose lifecycle.
        cause: id of the event of the outcome.
        attached: the newest effect came from an attachment.
        repair_failed: a reuse-triggered repair just failed.
        repaired: the parent, when a repair was just committed; its record is the evidence.
    """
    memory = run.state.store[memory_id]
    version = repaired.version if repaired else memory.version
    change = transition(
        memory.state,
        run.state.evidence.of(memory_id, version),
        epsilon=run.settings.epsilon,
        repair_failed=repair_failed,
        repair_committed=repaired is not None,
        attached=attached,
    )
    if change is None:
        return
    run.emit(
        ev.StateChanged(
            memory=memory_id,
            version=memory.version,
            before=memory.state,
            after=change.after,
            rule=change.rule,
            evidence=change.evidence,
        ),
        cause,
    )
