"""A use of a memory: its paired effect, why it came about, what follows for it (§3.2, Eq. 4-6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ...eventlog import events as ev
from ...eventlog.codec import digest
from ...projections.store import Memory
from ..attribution import UNKNOWN, Attribution, Scope, attribute, needs_diagnosis, supported
from ..boundary import may_generalise, new_avoid, new_uses, qualifying_positive
from ..effects import enters_record, paired_effect, sign
from ..llm.facts import evidence_ids
from ..retrieval import observed, receivers
from .repairs import Harm, repair_after_reuse
from .scripts import Script, due, exactly
from .states import change
from .trajectories import Ran, shown
from .walk import Walk, memory_of


@attrs.frozen(kw_only=True)
class Use:
    """Which roles were given a memory, and the id of the event that (first) says so."""

    roles: tuple[str, ...]
    cause: str


@attrs.frozen(kw_only=True)
class Pair:
    """A recorded effect measured, with the two executions it comes from and its event's id.

    ``roles`` were given the memory.
    """

    event: ev.EffectMeasured
    roles: tuple[str, ...]
    with_memory: Ran
    without: Ran
    cause: str


def assess(
    walk: Walk, name: str, use: Use, *, proposal: ev.ExtractionDecided | None = None
) -> Script[ev.Label]:
    """One use on the current task, up to the repair it may lead to; gives its label.

    ``proposal`` is what was attached to the memory, if that is why it is used.
    """
    task = walk.current.task
    origin: ev.Origin = "reuse" if proposal is None else "attachment"
    walk.current.asked += 1 if walk.current.none else 2
    measured = yield from measure(walk, name, use.roles, task, origin, use.cause)
    if walk.current.none:
        walk.same("evidence for no memory", measured.without.event_id, walk.current.none)
    walk.current.none = measured.without.event_id
    checked, scope, cause = yield from _check_scope(walk, measured, proposal)
    holds, diagnosed = False, None
    if needs_diagnosis(measured.event.sign, scope):
        diagnosed, cause = yield from _diagnose(walk, measured, cause)
        holds = diagnosed.supported
    attribution = attribute(measured.event.sign, scope, holds)
    attributed = ev.UseAttributed(
        memory=name,
        version=measured.event.version,
        task=task,
        label=attribution.label,
        reason=attribution.reason,
    )
    cause = yield from exactly(attributed, cause)
    memory = memory_of(walk, name)
    effects = walk.now.evidence.of(name, memory.version)
    if enters_record(task, memory.source_task, effects):
        known = checked.context if scope.known else None
        recorded = yield from record(
            measured, cause, label=attribution.label, avoid=scope.avoid, context=known
        )
        yield from _grow(walk, name, attribution, cause, recorded)
        yield from change(walk, name, recorded, attached=origin == "attachment")
    if attribution.label == "CONTENT":
        assert diagnosed is not None
        harm = Harm(roles=use.roles, with_memory=measured.with_memory, without=measured.without)
        yield from repair_after_reuse(walk, memory_of(walk, name), harm, diagnosed, cause)
    return attribution.label


def measure(
    walk: Walk, name: str, roles: tuple[str, ...], task: str, origin: ev.Origin, cause: str
) -> Script[Pair]:
    """The difference of two executions of a task: with only this memory, and with none."""
    memory = memory_of(walk, name)
    event, event_id = yield from due(
        ev.EffectMeasured, cause, memory=name, version=memory.version, task=task, origin=origin
    )
    if len(event.evidence) != 2:
        walk.broken("evidence does not name two executions")
    with_id, without_id = event.evidence
    with_memory = walk.ran("execution_with", with_id, task, roles, memory.body)
    without = walk.ran("execution_without", without_id, task)
    effect = paired_effect(event.score_with, event.score_without)
    for field, expected in (
        ("execution_with", with_memory.request),
        ("execution_without", without.request),
        ("score_with", with_memory.score),
        ("score_without", without.score),
        ("effect", effect),
        ("sign", sign(effect, walk.settings.epsilon)),
        (
            "changed",
            (with_memory.score, with_memory.course) != (without.score, without.course),
        ),
    ):
        walk.same(field, getattr(event, field), expected)
    return Pair(event=event, roles=roles, with_memory=with_memory, without=without, cause=event_id)


def record(
    measured: Pair,
    cause: str,
    *,
    label: ev.Label,
    avoid: bool,
    context: ev.BlobRef | None,
) -> Script[str]:
    """The effect enters the record E just as it was measured."""
    event = measured.event
    recorded = ev.EffectRecorded(
        memory=event.memory,
        version=event.version,
        task=event.task,
        origin=event.origin,
        effect=event.effect,
        sign=event.sign,
        label=label,
        avoid=avoid,
        changed=event.changed,
        context=context,
    )
    return (yield from exactly(recorded, cause))


def _check_scope(
    walk: Walk,
    measured: Pair,
    proposal: ev.ExtractionDecided | None,
) -> Script[tuple[ev.ScopeChecked, Scope, str]]:
    memory = memory_of(walk, measured.event.memory)
    event, cause = yield from due(ev.ScopeChecked, measured.cause, **_use(measured))
    if proposal is None:
        seen = [walk.blob(walk.current.contexts[role]).decode() for role in measured.roles]
        walk.same("context", event.context, digest(observed(seen).encode()))
    else:
        read = walk.blob(event.context).decode()
        stated = (proposal.body, *proposal.use_when, *proposal.avoid_when)
        walk.require(
            read.startswith(walk.blob(walk.current.text).decode())
            and all(text in read for text in stated),
            "context is not made of the task and the proposal",
        )
    walk.require(memory.use_when or not event.use, "use holds although there is no use condition")
    walk.require(memory.avoid_when or not event.avoid, "avoid holds although there is none")
    nothing = (event.use, event.avoid, event.boundary) == (False, False, "")
    walk.answered(event, "scope check", receivers(measured.roles), nothing)
    if event.fallback:
        return event, UNKNOWN, cause
    return event, Scope(event.use, event.avoid, event.boundary), cause


def _diagnose(walk: Walk, measured: Pair, cause: str) -> Script[tuple[ev.ContentDiagnosed, str]]:
    event, cause = yield from due(ev.ContentDiagnosed, cause, **_use(measured))
    displayed = (
        *evidence_ids("none", shown(walk.blob(measured.without.trajectory))),
        *evidence_ids("with", shown(walk.blob(measured.with_memory.trajectory))),
    )
    holds, problem = supported(event.defect, event.description, event.cited, displayed)
    walk.same("supported", event.supported, holds)
    walk.same("problem", event.problem, problem)
    nothing = (event.defect, event.description, event.cited) == ("", "", ())
    walk.answered(event, "content diagnosis", receivers(measured.roles), nothing)
    return event, cause


def _grow(
    walk: Walk, name: str, attribution: Attribution, attributed: str, recorded: str
) -> Script[None]:
    """What the use adds to the scope (Eq. 12)."""
    memory = memory_of(walk, name)
    boundary = new_avoid(memory.avoid_texts, attribution)
    if boundary is not None:
        yield from _add(memory, "avoid_when", boundary, "scope check", attributed)
    effects = walk.now.evidence.of(name, memory.version)
    if not may_generalise(effects[-1], effects, walk.settings.n_plus):
        return
    positive = qualifying_positive(effects)
    event, cause = yield from due(
        ev.UseConditionsGeneralised,
        recorded,
        memory=name,
        version=memory.version,
        tasks=tuple(effect.task for effect in positive),
    )
    walk.answered(event, "generalisation", memory.owner, event.returned == (), more=len(positive))
    walk.same(
        "evidence",
        event.evidence[len(event.replies) :],
        tuple(effect.event_id for effect in positive),
    )
    for text in new_uses(memory.use_texts, event.returned):
        yield from _add(memory, "use_when", text, "generalisation", cause)


def _add(
    memory: Memory, kind: ev.ConditionKind, text: str, source: ev.ConditionSource, cause: str
) -> Script[None]:
    yield from exactly(
        ev.ConditionAdded(
            memory=memory.id, version=memory.version, kind=kind, text=text, source=source
        ),
        cause,
    )


def _use(measured: Pair) -> Mapping[str, Any]:
    event = measured.event
    return {"memory": event.memory, "version": event.version, "task": event.task}
