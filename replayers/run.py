"""What one task cycle works with: the journal, the settings, and the means to ask the world."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ..decisions.retrieval import text_of
from ..decisions.settings import Settings
from ..eventlog import events as ev
from ..eventlog.log import Recorded
from ..projections.history import TaskRecord
from ..projections.state import Serialiser, State
from ..projections.store import Memory
from .deciding import Decider
from .embeddings import Embeddings, Neighbours
from .executions import Execution, Executions, read_execution
from .hosts.base import Supply
from .journal import Journal
from .progress import ExecutionBegun


@attrs.define
class Run:
    """A run in progress, live or offline.

    ``asked`` counts the team executions of the plain algorithm in the current task; how many of
    them had to be made is for the log to say.
    """

    journal: Journal
    settings: Settings
    roles: tuple[str, ...]
    executions: Executions
    decider: Decider
    embeddings: Embeddings
    serialiser: Serialiser = attrs.field(init=False, factory=Serialiser)
    memory_neighbours: Neighbours = attrs.field(init=False)
    body_neighbours: Neighbours = attrs.field(init=False)
    task_neighbours: Neighbours = attrs.field(init=False)
    asked: int = 0
    _baseline: Execution | None = None

    def __attrs_post_init__(self) -> None:
        self.memory_neighbours = Neighbours(self.embeddings)
        self.body_neighbours = Neighbours(self.embeddings)
        self.task_neighbours = Neighbours(self.embeddings)

    @property
    def state(self) -> State:
        """The state after the newest event."""
        return self.journal.state

    def begin_task(self, index: int) -> None:
        """Start counting and remembering anew."""
        self.asked = 0
        self._baseline = None
        self.journal.begin_task(index)

    def emit(self, event: ev.Event, cause: str, *blobs: bytes) -> Recorded:
        """Record a conclusion."""
        return self.journal.emit(event, cause=cause, blobs=blobs)

    def replay(
        self, task: str, memory: Memory, roles: Sequence[str], cause: str, *, why: str
    ) -> Execution:
        """An execution with only ``memory``, supplied to ``roles``; ``why`` is for who watches."""
        self._begin_execution(ExecutionBegun(task=task, memories=(memory.id,), why=why))
        return self.executions.replay(task, dict.fromkeys(roles, (memory,)), cause=cause)

    def replay_without(self, task: str, cause: str, *, why: str) -> Execution:
        """An execution with no memory; ``why`` is for who watches."""
        self._begin_execution(ExecutionBegun(task=task, why=why))
        return self.executions.replay(task, {}, cause=cause)

    def scored(self, task: str, supply: Supply, cause: str) -> Execution:
        """The execution whose score counts; memories are chosen by ``supply`` as roles come up."""
        self._begin_execution(ExecutionBegun(task=task))
        return self.executions.scored(task, supply, cause=cause)

    def _begin_execution(self, begun: ExecutionBegun) -> None:
        self.asked += 1
        self.journal.tell(begun)

    def baseline(self, task: str, cause: str) -> Execution:
        """The no-memory execution of the current task, shared by all its assessments."""
        if self._baseline is None:
            self._baseline = self.replay_without(task, cause, why="comparison")
        return self._baseline

    def source_execution(self, memory: Memory) -> Execution:
        """The execution a memory was extracted from."""
        recorded = self.journal.log.find(f"request:{memory.source_execution}")
        assert recorded is not None
        return read_execution(self.journal, recorded)

    def text_of(self, task: TaskRecord) -> str:
        """The text of a task."""
        return self.journal.log.text(task.text)

    def similar_memories(
        self,
        query: str,
        k: int,
        memories: Sequence[Memory],
        cause: str,
        *,
        bodies_alone: bool = False,
    ) -> dict[str, float]:
        """Cosines of ``query`` with the nearest of ``memories``, by memory id.

        A memory is near by its body and use conditions, or by its body alone.
        """
        neighbours = self.body_neighbours if bodies_alone else self.memory_neighbours
        texts = {
            memory.number: text_of(memory.body, () if bodies_alone else memory.use_texts)
            for memory in memories
        }
        near = neighbours.similarities(query, k, texts, lambda text: text, cause=cause)
        return {f"m{number}": similarity for number, similarity in near.items()}

    def similar_tasks(
        self, query: str, k: int, tasks: Sequence[TaskRecord], cause: str
    ) -> dict[str, float]:
        """Cosines of ``query`` with the nearest of ``tasks``, by task id."""
        near = self.task_neighbours.similarities(
            query,
            k,
            {task.index: task.text for task in tasks},
            self.journal.log.text,
            cause=cause,
        )
        return {self.state.history.order[index]: cosine for index, cosine in near.items()}
