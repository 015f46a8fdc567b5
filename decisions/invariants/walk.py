"""A walk along a log: what is known at an event, and what was found wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn, Protocol

import attrs

from ...eventlog import events as ev
from ...eventlog.codec import digest
from ...eventlog.log import Recorded
from ...projections.state import State, evolve
from ...projections.store import Memory
from ..settings import Settings
from .trajectories import Ran


class Broken(Exception):
    """What was found leaves nothing to judge the rest of this task by."""


class Decided(Protocol):
    """A conclusion drawn from a model's replies."""

    @property
    def fallback(self) -> str:
        """Empty, or why no reply was usable."""
        ...

    @property
    def replies(self) -> tuple[str, ...]:
        """Digests of the texts."""
        ...

    @property
    def evidence(self) -> tuple[str, ...]:
        """Ids of the events that hold them, and of others."""
        ...


@attrs.define(kw_only=True)
class Header:
    """What the newest `RunStarted` or `RunForked` fixed.

    ``free_order`` is said of teams that decide as they play which role speaks, and whether.
    """

    run: str
    tasks: int
    roles: tuple[str, ...]
    free_order: bool
    reuse: bool
    settings: Settings


@attrs.define(kw_only=True)
class Current:
    """The task whose cycle this is.

    ``scored`` is its first execution, ``none`` the id of the no-memory execution that its
    assessments share, ``asked`` how many executions the plain algorithm has made.
    """

    index: int
    task: str
    text: ev.BlobRef
    started: str
    position: int
    contexts: dict[str, ev.BlobRef] = attrs.field(factory=dict)
    replies: dict[str, Recorded] = attrs.field(factory=dict)
    scored: Ran | None = None
    none: str = ""
    asked: int = 0


@attrs.define
class Walk:
    """What the scripts know; ``before`` is the state before the event at hand.

    ``owned`` and ``eligible`` count the memories of each role, all of them and those not inactive.
    """

    blob: Callable[[str], bytes]
    find: Callable[[str], Recorded | None]
    before: State = attrs.field(factory=State)
    recorded: Recorded | None = None
    problems: list[str] = attrs.field(factory=list)
    executions: dict[str, Ran] = attrs.field(factory=dict)
    first: dict[str, Ran] = attrs.field(factory=dict)
    owned: Counter[str] = attrs.field(factory=Counter)
    eligible: Counter[str] = attrs.field(factory=Counter)
    _header: Header | None = None
    _current: Current | None = None
    _now: State | None = None

    @property
    def header(self) -> Header:
        """The header in force."""
        assert self._header is not None
        return self._header

    @header.setter
    def header(self, header: Header) -> None:
        self._header = header

    @property
    def current(self) -> Current:
        """The open task."""
        assert self._current is not None
        return self._current

    @current.setter
    def current(self, current: Current) -> None:
        self._current = current

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.header.settings

    @property
    def now(self) -> State:
        """The state after the event at hand."""
        if self._now is None:
            assert self.recorded is not None
            self._now = evolve(self.before, self.recorded)
        return self._now

    def at(self, before: State, recorded: Recorded) -> None:
        """Step to the next event."""
        self.before, self.recorded, self._now = before, recorded, None

    # -- finding fault -------------------------------------------------------------------------

    def problem(self, words: str) -> None:
        """Note that something is wrong with the event at hand."""
        assert self.recorded is not None
        memory = getattr(self.recorded.event, "memory", "")
        about = f" of {memory}" if memory else ""
        self.problems.append(f"{self.recorded.type}{about}: {words}")

    def broken(self, words: str) -> NoReturn:
        """Note that something is so wrong that nothing after it can be judged."""
        self.problem(words)
        raise Broken

    def same(self, field: str, recorded: Any, expected: Any) -> None:
        """Note a field that differs from what the rules give."""
        if recorded != expected:
            self.problem(f"{field} is {short(recorded)}, the rules give {short(expected)}")

    def require(self, holds: object, words: str) -> None:
        """Note what is wrong unless it holds."""
        if not holds:
            self.problem(words)

    # -- what conclusions rest on --------------------------------------------------------------

    def answered(
        self, event: Decided, purpose: str, role: str, empty: object, *, more: int = 0
    ) -> None:
        """Whether a decision rests on the replies it says, and took its fallback only for want.

        Args:
            event: the decision.
            purpose: what the model was asked for.
            role: whose decision it is.
            empty: whether the decision is the fallback's.
            more: how many other events it rests on, after the replies.
        """
        attempts = self.settings.attempts
        replies = event.evidence[: len(event.replies)]
        if event.fallback:
            self.require(
                len(event.replies) == attempts,
                f"fell back after {len(event.replies)} of {attempts} attempts",
            )
            self.require(empty, "fell back, but not to what a failing model stands for")
        else:
            self.require(
                0 < len(event.replies) <= attempts,
                f"rests on {len(event.replies)} replies, with at most {attempts} attempts",
            )
        self.require(
            len(event.evidence) == len(event.replies) + more and len(set(replies)) == len(replies),
            "evidence does not name one reply per attempt",
        )
        for event_id, text in zip(replies, event.replies, strict=False):
            reply = self.reply(event_id)
            if reply is None:
                self.problem(f"evidence {event_id} is no reply of a model")
            elif (reply.purpose, reply.role) != (purpose, role):
                self.problem(f"evidence {event_id} is a reply for {reply.purpose} of {reply.role}")
            elif said(reply) != text:
                self.problem(f"replies do not hold the digest of reply {event_id}")

    def reply(self, event_id: str) -> ev.ModelReplied | None:
        """The earlier reply with an id, if there is one."""
        found = self.earlier(event_id)
        return found if isinstance(found, ev.ModelReplied) else None

    def earlier(self, event_id: str) -> ev.Event | None:
        """The earlier event with an id, if there is one."""
        assert self.recorded is not None
        found = self.current.replies.get(event_id) or self.find(event_id)
        if found is None or found.position >= self.recorded.position:
            return None
        return found.event

    def retrievable(self, role: str) -> int:
        """How many memories may be retrieved for a role."""
        if self.settings.uses_meta_memory:
            return self.eligible[role]
        return self.eligible.total()

    def ran(
        self, name: str, event_id: str, task: str, roles: Sequence[str] = (), body: str = ""
    ) -> Ran:
        """The recorded execution of ``task`` with only this rule for ``roles``, or with none.

        An execution is known by what its team read, so it may have been recorded under another
        identity with the same words.
        """
        ran = self.executions.get(event_id)
        if ran is None:
            self.broken(f"{name} {event_id} is no recorded execution")
        supplied = tuple((role, digest(body.encode())[:12]) for role in roles)
        self.require(ran.task == task, f"{name} is an execution of {ran.task}, not of {task}")
        if ran.supplied != supplied:
            self.problem(
                f"{name} ran with other memories than {'this one' if supplied else 'none'}"
            )
        if not self.header.reuse and ran.position < self.current.position:
            self.problem(f"{name} is of an earlier task, but executions are not reused")
        return ran

    def candidates(
        self, candidates: Sequence[ev.Candidate], role: str | None, k: int, theta: float, held: int
    ) -> None:
        """Whether these are memories in similarity order, at most ``k`` of ``held``.

        They are those of ``role``, or of any if it is None.
        """
        seen: set[str] = set()
        places = []
        for candidate in candidates:
            memory = self.before.store.memories.get(candidate.memory)
            if memory is None or role not in (None, memory.owner):
                owner = f" of {role}" if role else ""
                self.broken(f"candidate {candidate.memory} is no memory{owner}")
            self.require(candidate.memory not in seen, f"{candidate.memory} is a candidate twice")
            self.require(
                theta <= candidate.similarity <= 1,
                f"{candidate.memory} is not within [{theta:g}, 1] near",
            )
            seen.add(candidate.memory)
            places.append((-candidate.similarity, memory.number))
        self.require(places == sorted(places), "candidates are not in order of similarity")
        most = min(k, held)
        self.require(len(candidates) <= most, f"more than {most} candidates")
        if theta <= -1:
            self.require(len(candidates) >= most, f"fewer than {most} candidates")


def said(reply: ev.ModelReplied) -> str:
    """The digest of a reply's text."""
    return reply.text_blob or digest((reply.text or "").encode())


def is_subsequence(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether ``part`` is some of ``whole``, each once, in its order."""
    return [each for each in whole if each in part] == list(part)


def short(value: Any, limit: int = 80) -> str:
    """A value for a message of one line."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def earlier(walk: Walk, tasks: Collection[str], exclude: Collection[str]) -> bool:
    """Whether these are distinct tasks before the current one, none of them excluded."""
    known = walk.before.history.tasks
    return len(set(tasks)) == len(tasks) and all(
        task in known and known[task].index < walk.current.index and task not in exclude
        for task in tasks
    )


def memory_of(walk: Walk, name: str) -> Memory:
    """A memory as it stands after the event at hand."""
    return walk.now.store[name]
