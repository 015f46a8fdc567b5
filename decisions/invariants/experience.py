"""New experience: extraction, identity, attachment or admission, calibration (§3.1, A.1, A.2)."""

from __future__ import annotations

from collections.abc import Collection

from ...eventlog import events as ev
from .repairs import repair_after_calibration
from .scripts import Script, due, exactly
from .states import change
from .trajectories import Ran
from .uses import Use, assess, measure, record
from .walk import Walk, earlier, memory_of

_ANY_SIMILARITY = -1.0


def learn_from_experience(walk: Walk, assessed: Collection[str], scored: str) -> Script[None]:
    """At most one rule per role, each either attached to the memory it repeats or admitted."""
    proposals = []
    for role in (role for role in walk.header.roles if role in walk.current.contexts):
        event, cause = yield from due(
            ev.ExtractionDecided,
            scored,
            index=walk.current.index,
            task=walk.current.task,
            role=role,
        )
        says = (event.body, event.use_when, event.avoid_when)
        walk.answered(event, "extraction", role, not event.store)
        walk.require(event.store or says == ("", (), ()), "abstains and says something")
        walk.require(not event.store or event.body.strip(), "stores a rule that says nothing")
        if event.store:
            proposals.append((event, cause))
    for proposal, cause in proposals:
        matched, cause = yield from _identify(walk, proposal, cause)
        if matched:
            yield from _attach(walk, matched, proposal, assessed, cause)
        else:
            yield from _admit(walk, proposal, cause)


def _identify(walk: Walk, proposal: ev.ExtractionDecided, cause: str) -> Script[tuple[str, str]]:
    """The memory of the role that the proposal repeats, or none (Eq. 3)."""
    role, k_id = proposal.role, walk.settings.k_id
    owned = walk.owned[role]
    if not owned or not k_id:
        return "", cause
    event, cause = yield from due(
        ev.IdentityJudged, cause, index=walk.current.index, task=walk.current.task, role=role
    )
    walk.candidates(event.candidates, role, k_id, _ANY_SIMILARITY, owned)
    walk.answered(event, "identity", role, event.matched == "")
    if event.matched and event.matched not in {each.memory for each in event.candidates}:
        walk.broken(f"matched {event.matched} is no candidate")
    return event.matched, cause


def _attach(
    walk: Walk, name: str, proposal: ev.ExtractionDecided, assessed: Collection[str], cause: str
) -> Script[None]:
    """The memory keeps its body, and is evaluated on this task unless that says nothing new."""
    memory = memory_of(walk, name)
    note = ""
    if name in assessed:
        note = "already assessed on this task"
    elif memory.source_task == walk.current.task:
        note = "this task is its source"
    attached = ev.ExperienceAttached(
        memory=name,
        version=memory.version,
        task=walk.current.task,
        body=proposal.body,
        use_when=proposal.use_when,
        avoid_when=proposal.avoid_when,
        note=note,
    )
    cause = yield from exactly(attached, cause)
    if not note:
        yield from assess(walk, name, Use(roles=(memory.owner,), cause=cause), proposal=proposal)


def _admit(walk: Walk, proposal: ev.ExtractionDecided, cause: str) -> Script[None]:
    """The proposal is a new memory of its role, provisional and version 1."""
    assert walk.current.scored is not None
    admitted = ev.MemoryAdmitted(
        memory=walk.now.store.next_id(),
        role=proposal.role,
        body=proposal.body,
        use_when=proposal.use_when,
        avoid_when=proposal.avoid_when,
        source_task=walk.current.task,
        source_execution=walk.current.scored.request,
    )
    cause = yield from exactly(admitted, cause)
    yield from _calibrate(walk, admitted.memory, cause)


def _calibrate(walk: Walk, name: str, cause: str) -> Script[None]:
    """The new memory is tried on earlier tasks; harm there leads to repair directly (A.2)."""
    wanted = min(walk.settings.n2, walk.current.index - 1)
    if not wanted:
        return
    drawn, cause = yield from due(ev.CalibrationDrawn, cause, memory=name, version=1)
    walk.require(len(drawn.tasks) == wanted, f"{len(drawn.tasks)} tasks drawn, not {wanted}")
    if not earlier(walk, drawn.tasks, {walk.current.task}):
        walk.broken("tasks are not distinct earlier ones")
    walk.current.asked += 2 * len(drawn.tasks)
    tried: list[tuple[str, Ran, Ran]] = []
    harmed: list[tuple[int, str]] = []
    for task in drawn.tasks:
        owner = memory_of(walk, name).owner
        measured = yield from measure(walk, name, (owner,), task, "calibration", cause)
        recorded = yield from record(
            measured, measured.cause, label="NONE", avoid=False, context=None
        )
        tried.append((task, measured.with_memory, measured.without))
        if measured.event.sign == "negative":
            harmed.append((len(tried) - 1, recorded))
        yield from change(walk, name, recorded)
    if harmed:
        at, recorded = harmed[0]
        pairs = [tried[at], *tried[:at], *tried[at + 1 :]]
        yield from repair_after_calibration(walk, memory_of(walk, name), pairs, recorded)
