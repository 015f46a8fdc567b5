"""Lines 3-4 of Algorithm 1: retrieve for each role, run the team, score (§3.3, Eq. 13)."""

from __future__ import annotations

import attrs

from ..decisions import llm
from ..decisions.retrieval import eligible, inject, retrieve
from ..eventlog import events as ev
from ..eventlog.codec import digest
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .executions import Execution, injected
from .run import Run
from .showing import listed


@attrs.frozen(kw_only=True)
class Use:
    """One memory supplied to the scored execution, as it was when it was read.

    ``roles`` received it, each having seen its own of ``contexts``: its owner, or without
    meta-memory whichever retrieved it. ``cause`` is the event that says so, of the first of them.
    """

    memory: Memory
    roles: tuple[str, ...]
    contexts: tuple[str, ...]
    cause: str

    def joined(self, other: Use) -> Use:
        """This use and a later one of the same memory: it is one member of U_t."""
        return attrs.evolve(
            self, roles=self.roles + other.roles, contexts=self.contexts + other.contexts
        )


def execute(run: Run, task: TaskRecord, cause: str) -> tuple[Execution, list[Use], str]:
    """Run the team on ``task`` with what retrieval supplies, and record the score.

    Returns:
        the scored execution, the uses U_t in the order of their injection, and the id of the
        `TaskScored` event.
    """
    uses: dict[str, Use] = {}
    supplied: dict[str, list[Memory]] = {}

    def supply(role: str, context: str) -> list[Memory]:
        found = retrieve_for(run, task, role, context, cause)
        for use in found:
            known = uses.get(use.memory.id)
            uses[use.memory.id] = use if known is None else known.joined(use)
        if found:
            supplied[role] = [use.memory for use in found]
        return supplied.get(role, [])

    execution = run.scored(task.id, supply, cause)
    scored = run.emit(
        ev.TaskScored(
            index=task.index,
            task=task.id,
            score=execution.score,
            execution=execution.request,
            supplied=injected(supplied),
        ),
        execution.event_id,
    )
    return execution, list(uses.values()), scored.event_id


def retrieve_for(run: Run, task: TaskRecord, role: str, context: str, cause: str) -> list[Use]:
    """The memories injected for ``role``: near enough, picked by the selector, at most k_inj."""
    settings = run.settings
    guided = settings.uses_meta_memory
    known = eligible(run.state.store, role, owned=guided)
    if not known or settings.k_inj == 0:
        return []
    near = run.similar_memories(context, settings.k_ret, known, cause, bodies_alone=not guided)
    measured = [memory for memory in known if memory.id in near]
    candidates = retrieve(near, measured, theta=settings.theta, k=settings.k_ret)
    retrieved = run.emit(
        ev.MemoriesRetrieved(
            index=task.index,
            task=task.id,
            role=role,
            context=ev.BlobRef(digest(context.encode())),
            candidates=candidates,
        ),
        cause,
    )
    if not candidates:
        return []
    memories = {c.memory: run.state.store[c.memory] for c in candidates}
    answer = run.decider.decide(
        llm.SELECTION,
        llm.SelectionFacts(
            role=role,
            context=context,
            candidates=tuple(listed(memory) for memory in memories.values()),
            conditions=guided,
        ),
        role=role,
        cause=retrieved.event_id,
    )
    selected = inject(candidates, answer.value.selected, settings.k_inj)
    decided = run.emit(
        ev.SelectionDecided(
            index=task.index,
            task=task.id,
            role=role,
            selected=selected,
            unknown=answer.value.unknown,
            fallback=answer.fallback,
            replies=answer.replies,
            evidence=answer.evidence,
        ),
        retrieved.event_id,
    )
    uses = []
    for name in selected:
        memory = memories[name]
        similarity = next(c.similarity for c in candidates if c.memory == name)
        supplied = run.emit(
            ev.MemorySupplied(
                memory=name,
                version=memory.version,
                role=role,
                task=task.id,
                similarity=similarity,
            ),
            decided.event_id,
        )
        uses.append(Use(memory=memory, roles=(role,), contexts=(context,), cause=supplied.event_id))
    return uses
