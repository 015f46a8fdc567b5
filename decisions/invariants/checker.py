"""The checker: events in, problems out; it sees to the frame and leads the scripts."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum
from typing import Any, Final

import orjson

from ...eventlog import events as ev
from ...eventlog.codec import digest
from ...eventlog.log import Recorded
from ...projections.state import State
from ..settings import DECISION_VERSION, Settings
from .people import override
from .scripts import Due, Script
from .solving import task
from .trajectories import faults, read
from .walk import Broken, Current, Header, Walk

_IDENTITY: Final = ("memory", "version", "task", "index")
"""Fields that name what an event is about; another value makes it another event."""


class Invariants:
    """Checks a log event by event, from its first, against the rules of the method.

    After a conclusion that could not follow, the rest of its task is not judged: nothing is known
    to judge it by. A log of other rules than these (`DECISION_VERSION`) is not judged at all.

    Args:
        blob: the content with a SHA-256 (hex).
        find: the event with an id.
    """

    def __init__(
        self, blob: Callable[[str], bytes], find: Callable[[str], Recorded | None]
    ) -> None:
        self._walk = Walk(blob, find)
        self._script: Script[None] | None = None
        self._due: Due | None = None
        self._judging = True
        self._begun = False
        self._index = 0
        self._open = False
        self._finished = False
        self._last_started = ""
        self._misplaced: int | None = -1
        self._direct: dict[str, Callable[[Recorded, Any], None]] = {
            "ModelReplied": self._reply,
            "ExecutionFinished": self._execution,
            "TaskStarted": self._start,
            "RunStarted": self._header,
            "RunForked": self._header,
            "RunFinished": self._finish,
            "MemoryOverridden": self._override,
        }

    def check(self, before: State, recorded: Recorded) -> list[str]:
        """What is wrong with the next event, in words of one line each; usually nothing.

        Args:
            before: the fold of all events before it.
            recorded: the event.
        """
        if not self._judging:
            return []
        walk = self._walk
        walk.at(before, recorded)
        walk.problems = []
        if not self._begun and recorded.type != "RunStarted":
            walk.problem("a log begins with RunStarted")
            self._judging = False
            return walk.problems
        if recorded.task_index != (self._index if self._open else None):
            self._check_place(recorded)
        try:
            self._take(recorded)
        except Broken:
            self._give_up()
        return walk.problems

    def _check_place(self, recorded: Recorded) -> None:
        if recorded.type != "TaskStarted" and recorded.task_index != self._misplaced:
            self._misplaced = recorded.task_index
            where = f"in task {self._index}" if self._open else "between tasks"
            self._walk.problem(f"recorded {where} as an event of task {recorded.task_index}")

    def _take(self, recorded: Recorded) -> None:
        direct = self._direct.get(recorded.type)
        if direct is not None:
            direct(recorded, recorded.event)
        elif recorded.type not in ("TextEmbedded", "PassagesFound"):
            self._follow(recorded)
            self._count(recorded)

    def _reply(self, recorded: Recorded, _: ev.Event) -> None:
        if self._open:
            self._walk.current.replies[recorded.event_id] = recorded

    # -- the frame -----------------------------------------------------------------------------

    def _header(self, recorded: Recorded, event: ev.RunStarted) -> None:
        if recorded.type == "RunStarted" and self._begun:
            self._walk.problem("a log has one RunStarted")
            return
        if event.decision_version != DECISION_VERSION:
            self._judging = False
            return
        self._between()
        self._begun = True
        self._finished = False
        try:
            self._walk.header = Header(
                run=event.run,
                tasks=event.tasks,
                roles=tuple(name for name, _ in event.host["roles"]),
                free_order=event.host.get("order") == "free",
                reuse=event.config["reuse"],
                settings=Settings(**event.config["method"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            self._walk.problem(f"config or host is none of a run: {error!r}")
            self._judging = False

    def _between(self) -> None:
        """Whether nothing is left undone where something else begins."""
        if self._due is not None:
            self._walk.problem(f"{self._due} is due before it")
        self._script, self._due, self._open = None, None, False

    def _start(self, recorded: Recorded, event: ev.TaskStarted) -> None:
        walk = self._walk
        self._between()
        walk.same("index", event.index, self._index + 1)
        walk.same("task_index", recorded.task_index, event.index)
        walk.require(event.index <= walk.header.tasks, f"the stream has {walk.header.tasks} tasks")
        walk.require(event.task not in walk.before.history.tasks, "the task was there before")
        self._index, self._open, self._misplaced = event.index, True, -1
        self._last_started = recorded.event_id
        walk.current = Current(
            index=event.index,
            task=event.task,
            text=event.text,
            started=recorded.event_id,
            position=recorded.position,
        )
        self._lead(task(walk))

    def _override(self, recorded: Recorded, event: ev.MemoryOverridden) -> None:
        self._between()
        self._lead(override(self._walk, event, recorded.event_id))

    def _finish(self, recorded: Recorded, event: ev.RunFinished) -> None:
        walk = self._walk
        self._between()
        history = walk.before.history
        scores = [history[name].score or 0.0 for name in history.order.values()]
        tasks = walk.header.tasks
        walk.require(not self._finished, "the run was finished before")
        walk.same("tasks completed", self._index, tasks)
        walk.same("run", event.run, walk.header.run)
        walk.same("tasks", event.tasks, tasks)
        walk.same("mean_score", event.mean_score, round(fsum(scores) / max(len(scores), 1), 9))
        walk.same("cause", recorded.causation_id, self._last_started)
        self._finished = True

    # -- executions ----------------------------------------------------------------------------

    def _execution(self, recorded: Recorded, event: ev.ExecutionFinished) -> None:
        walk = self._walk
        walk.require(event.task in walk.before.history.tasks, f"no task {event.task} has started")
        try:
            ran, steps = read(recorded, walk.blob)
        except ValueError as error:
            walk.problem(f"trajectory is none: {error}")
            return
        if self._open:
            for fault in faults(event, steps, walk.earlier):
                walk.problem(fault)
        walk.executions[recorded.event_id] = ran
        walk.first.setdefault(event.request, ran)
        if self._open and walk.current.scored is None:
            walk.current.scored = ran
            self._check_contexts(event)

    def _check_contexts(self, event: ev.ExecutionFinished) -> None:
        """The scored execution's contexts are those its roles' memories were chosen by."""
        walk = self._walk
        try:
            contexts = orjson.loads(walk.blob(event.contexts))
        except ValueError:
            contexts = None
        if not isinstance(contexts, dict):
            walk.problem("contexts are none")
            return
        for role, context in walk.current.contexts.items():
            if digest(str(contexts.get(role)).encode()) != context:
                walk.problem(f"contexts do not hold what {role} was observed to see")

    # -- the scripts ---------------------------------------------------------------------------

    def _lead(self, script: Script[None]) -> None:
        self._script = script
        self._due = next(script, None)

    def _follow(self, recorded: Recorded) -> None:
        """Compare a conclusion with what is due, and go on to what is due after it."""
        walk, due = self._walk, self._due
        if due is None or self._script is None:
            if not self._open or self._script is not None:
                walk.problem("follows from nothing before it")
            return
        if due.instead is not None and recorded.type == due.instead.type:
            due = due.instead
        if recorded.type != due.type:
            walk.broken(f"{due} is due here")
        if due.cause is not None and recorded.causation_id != due.cause:
            walk.same("cause", recorded.causation_id, due.cause)
        for field, expected in due.fields.items():
            found = getattr(recorded.event, field)
            if found != expected:
                walk.same(field, found, expected)
                if field in _IDENTITY:
                    raise Broken
        try:
            self._due = self._script.send(recorded)
        except StopIteration:
            self._close()

    def _close(self) -> None:
        """The script is at its end: the task is completed, or the decision carried out."""
        self._script, self._due, self._open = None, None, False

    def _give_up(self) -> None:
        """Judge nothing more until something new begins."""
        self._script, self._due = None, None

    def _count(self, recorded: Recorded) -> None:
        """Keep count of the memories of each role."""
        walk, memories = self._walk, self._walk.before.store.memories
        match recorded.event:
            case ev.MemoryAdmitted() as event:
                walk.owned[event.role] += 1
                walk.eligible[event.role] += 1
            case ev.StateChanged() as event if event.memory in memories:
                memory = memories[event.memory]
                walk.eligible[memory.owner] += (event.after != "inactive") - (
                    memory.state != "inactive"
                )
            case _:
                pass
