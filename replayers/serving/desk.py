"""The desk between a team and the thread that plays: requests are laid on it and answered in turn.

Any number of threads lay requests here, one by one in the order of their arrival; the thread that
called the host's `play` takes them up, so that the log is only ever touched by that one.
"""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

import attrs

from ..hosts.base import Spoken
from .chat import Request
from .errors import NotServed


@attrs.frozen(kw_only=True)
class Work:
    """One pass of the team: what it is to do, and the name under which its roles are addressed.

    ``prompt`` is all the team may read now: the task, what happened so far, what is possible.
    """

    run: str
    task: str
    prompt: str


@attrs.frozen(kw_only=True, eq=False)
class Laid:
    """A request that waits: by which role in which pass, and whether its client hung up."""

    run: str
    role: str
    gone: Callable[[], bool]
    reply: Future[Spoken] = attrs.field(factory=Future)

    def answer(self, spoken: Spoken) -> None:
        """Let the client have its answer, unless it was refused meanwhile."""
        with suppress(InvalidStateError):
            self.reply.set_result(spoken)

    def refuse(self, error: Exception) -> None:
        """Let the client know why there is no answer."""
        with suppress(InvalidStateError):
            self.reply.set_exception(error)


@attrs.frozen(kw_only=True, eq=False)
class Call(Laid):
    """A role asks its model."""

    request: Request


@attrs.frozen(kw_only=True, eq=False)
class Lookup(Laid):
    """A role looks something up."""

    query: str


@attrs.frozen(kw_only=True)
class Answer:
    """The team's action in a pass."""

    run: str
    text: str


@attrs.frozen(kw_only=True)
class Trouble:
    """The team cannot finish a pass."""

    run: str
    reason: str


Item = Call | Lookup | Answer | Trouble


class Desk:
    """Where the work of one pass lies open, and what the team asks meanwhile.

    Each beginning of a pass has a name of its own that cannot be guessed: it keeps apart what an
    earlier beginning may still ask. Names reach no event.
    """

    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = frozenset(roles)
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._work: Work | None = None
        self._fetched = False
        self._answered = False
        self._closed: NotServed | None = None
        self._finished = False
        self._pending: list[Future[Spoken]] = []

    # -- the side that plays -------------------------------------------------------------------

    def open(self, task: str, prompt: str) -> Work:
        """Lay out the work of a pass."""
        with self._changed:
            return self._lay_out(task, prompt)

    def again(self, run: str) -> None:
        """Lay out the work of a pass anew, unless that was done; its old name is over."""
        with self._changed:
            if self._work is not None and self._work.run == run:
                self._lay_out(self._work.task, self._work.prompt)

    def current(self, item: Item) -> bool:
        """Whether an item belongs to the newest beginning of the pass."""
        with self._changed:
            return self._work is not None and item.run == self._work.run

    def take(self, timeout: float | None = None) -> Item:
        """The next item, in order of arrival.

        Raises:
            queue.Empty: none came in ``timeout`` seconds.
        """
        return self._items.get(timeout=timeout)

    def withdraw(self) -> None:
        """Take the work back: nothing more is served under its name."""
        with self._changed:
            self._work = None
            self._refuse(_OVER)

    def close(self, trouble: str = "") -> None:
        """Serve nothing more; whoever waits is told of the trouble, or that all is done."""
        with self._changed:
            self._closed = NotServed(503, trouble) if trouble else _OVER
            self._finished = not trouble
            self._work = None
            self._refuse(self._closed)
            self._changed.notify_all()

    # -- the side of the team ------------------------------------------------------------------

    def put(self, item: Answer | Trouble) -> None:
        """Say how a pass ended, for a team that is watched from here."""
        self._items.put(item)

    def lay(self, item: Call | Lookup) -> Future[Spoken]:
        """Ask something; the answer comes in its turn.

        Raises:
            NotServed: no such run is open, or it has no such role.
        """
        with self._changed:
            self._require_open(item.run)
            self.require_role(item.role)
            self._pending = [reply for reply in self._pending if not reply.done()]
            self._pending.append(item.reply)
            self._items.put(item)
        return item.reply

    def require_role(self, role: str) -> None:
        """Refuse a role that the team does not have."""
        if role not in self._roles:
            known = ", ".join(sorted(self._roles))
            raise NotServed(404, f"the team has no role {role!r}; roles: {known}")

    def answer(self, run: str, text: str) -> None:
        """Hand in the team's action, which ends the pass.

        Raises:
            NotServed: no such run is open.
        """
        with self._changed:
            self._require_open(run)
            self._answered = True
            self._items.put(Answer(run=run, text=text))

    def fetch(self, gone: Callable[[], bool]) -> Work | None:
        """The work of the next pass, once there is some; None when there will be no more.

        Work that was fetched before is begun again: who fetched it is taken for lost.

        Raises:
            NotServed: whoever waited hung up meanwhile, or what plays is in trouble.
        """
        with self._changed:
            if self._work is not None and self._fetched and not self._answered:
                self._lay_out(self._work.task, self._work.prompt)
            while self._closed is None and (self._work is None or self._fetched):
                self._changed.wait()
            if self._finished:
                return None
            if self._closed is not None:
                raise self._closed
            if gone():
                raise NotServed(404, "the driver hung up")
            self._fetched = True
            return self._work

    def _lay_out(self, task: str, prompt: str) -> Work:
        self._refuse(_OVER)
        self._work = Work(run=secrets.token_urlsafe(12), task=task, prompt=prompt)
        self._fetched = self._answered = False
        self._changed.notify_all()
        return self._work

    def _require_open(self, run: str) -> None:
        if self._closed is not None:
            raise self._closed
        if self._work is None or self._answered or run != self._work.run:
            raise _OVER

    def _refuse(self, reason: NotServed) -> None:
        for reply in self._pending:
            with suppress(InvalidStateError):  # answered meanwhile
                reply.set_exception(reason)
        self._pending.clear()


_OVER = NotServed(404, "there is no such run, or it is over; fetch the work again")
