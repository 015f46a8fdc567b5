"""A task from its start to its store: retrieve, execute, score, learn, complete (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ...eventlog import events as ev
from ...eventlog.codec import digest
from .experience import learn_from_experience
from .scripts import Due, Script, due, exactly
from .uses import Use, assess
from .walk import Walk, is_subsequence


def task(walk: Walk) -> Script[None]:
    """Everything that is due in the cycle of a task, up to its stored state."""
    current = walk.current
    supplied, scored = yield from _solve(walk)
    uses: dict[str, Use] = {}
    for event, cause in supplied:
        known = uses.get(event.memory)
        roles = (event.role,) if known is None else (*known.roles, event.role)
        uses[event.memory] = Use(roles=roles, cause=known.cause if known else cause)
    labels = set()
    for name, use in uses.items():
        labels.add((yield from assess(walk, name, use)))
    if "CONTENT" not in labels:
        yield from learn_from_experience(walk, uses, scored)
    assert current.scored is not None
    completed = yield from exactly(
        ev.TaskCompleted(
            index=current.index,
            task=current.task,
            score=current.scored.score,
            executions_asked=current.asked,
        ),
        scored,
    )
    yield from due(ev.StoreCheckpointed, completed, run=walk.header.run, index=current.index)


def _solve(walk: Walk) -> Script[tuple[list[tuple[ev.MemorySupplied, str]], str]]:
    """What was supplied, with the ids of the events that say so, and the id of the score."""
    current = walk.current
    supplied: list[tuple[ev.MemorySupplied, str]] = []
    waiting = list(walk.header.roles)
    while True:
        injected = _injected(walk, supplied)
        came = yield _next(walk, waiting, injected)
        event = came.event
        if isinstance(event, ev.TaskScored):
            break
        assert isinstance(event, ev.ContextObserved)
        role = event.role
        if role not in waiting:
            walk.broken(f"{role} is no role, or was observed before")
        waiting.remove(role)
        current.contexts[role] = event.context
        if walk.settings.k_inj and walk.retrievable(role):
            supplied += yield from _retrieve(walk, role)
    current.asked += 1
    _check_score(walk, event, injected)
    return supplied, came.event_id


def _next(walk: Walk, waiting: Sequence[str], injected: Sequence[ev.Injected]) -> Due:
    """The context of the role whose turn it is, or the score once all had theirs."""
    current = walk.current
    fields = {"index": current.index, "task": current.task, "supplied": tuple(injected)}
    scoring = Due(ev.TaskScored.__name__, None, fields)
    if not waiting:
        return scoring
    observing = Due(ev.ContextObserved.__name__, current.started, {"task": current.task})
    if walk.header.free_order:
        return attrs.evolve(observing, instead=scoring)
    return attrs.evolve(observing, fields={**observing.fields, "role": waiting[0]})


def _injected(
    walk: Walk, supplied: Sequence[tuple[ev.MemorySupplied, str]]
) -> tuple[ev.Injected, ...]:
    return tuple(
        ev.Injected(
            memory=event.memory,
            version=event.version,
            role=event.role,
            body=digest(walk.before.store[event.memory].body.encode())[:12],
        )
        for event, _ in supplied
    )


def _check_score(walk: Walk, event: ev.TaskScored, injected: Sequence[ev.Injected]) -> None:
    """The score is that of the task's first execution, under exactly what was supplied."""
    ran = walk.current.scored
    if ran is None:
        walk.broken("scored before any execution")
    assert walk.recorded is not None
    walk.same("cause", walk.recorded.causation_id, ran.event_id)
    walk.same("execution", event.execution, ran.request)
    walk.same("score", event.score, ran.score)
    walk.require(ran.task == event.task, f"its execution is of {ran.task}")
    walk.require(
        ran.supplied == tuple((each.role, each.body) for each in injected),
        "its execution ran with other memories than were supplied",
    )


def _retrieve(walk: Walk, role: str) -> Script[list[tuple[ev.MemorySupplied, str]]]:
    current, settings = walk.current, walk.settings
    fixed = {"index": current.index, "task": current.task, "role": role}
    retrieved, cause = yield from due(
        ev.MemoriesRetrieved, current.started, context=current.contexts[role], **fixed
    )
    walk.candidates(
        retrieved.candidates,
        role if settings.uses_meta_memory else None,
        settings.k_ret,
        settings.theta,
        walk.retrievable(role),
    )
    similarity = {each.memory: each.similarity for each in retrieved.candidates}
    for name in similarity:
        if walk.before.store[name].state == "inactive":
            walk.problem(f"candidate {name} is inactive")
    if not retrieved.candidates:
        return []
    decided, cause = yield from due(ev.SelectionDecided, cause, **fixed)
    offered = list(similarity)
    walk.answered(
        decided,
        "selection",
        role,
        (list(decided.selected), decided.unknown) == (offered[: settings.k_inj], ()),
    )
    if not is_subsequence(decided.selected, offered):
        walk.broken("selected are not some of the retrieved, in their order")
    walk.require(
        len(decided.selected) <= settings.k_inj,
        f"{len(decided.selected)} memories selected, at most {settings.k_inj} may be",
    )
    walk.require(
        not set(decided.unknown) & similarity.keys(), "unknown names a memory that was retrieved"
    )
    supplied = []
    for name in decided.selected:
        event = ev.MemorySupplied(
            memory=name,
            version=walk.before.store[name].version,
            role=role,
            task=current.task,
            similarity=similarity[name],
        )
        supplied.append((event, (yield from exactly(event, cause))))
    return supplied
