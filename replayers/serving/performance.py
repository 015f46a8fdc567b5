"""One episode of a team behind the gateway: pass by pass, each answered from one thread."""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from ...eventlog.errors import Infrastructure
from ..benchmarks.base import Benchmark, Task
from ..hosts.base import Played, Spoken, Stage, Turn
from ..hosts.episode import Episode
from ..hosts.prompts import user_message
from .desk import Answer, Call, Desk, Lookup, Trouble, Work
from .errors import NotServed
from .memories import context_of, with_block

Start = Callable[[Work], AbstractContextManager[None]]
"""Starts the team on the work of a pass, for as long as the context is open."""


@attrs.define(kw_only=True)
class _Pass:
    """One beginning of a pass: who said what so far, and how often each role called before."""

    run: str
    calls: Counter[str]
    heard: list[tuple[str, Spoken]] = attrs.field(factory=list)
    searches: Counter[str] = attrs.field(factory=Counter)
    last: str


class Performance:
    """Plays one episode; everything the team asks is answered by the thread that plays."""

    def __init__(
        self,
        *,
        name: str,
        owners: tuple[str, ...],
        benchmark: Benchmark,
        task: Task,
        stage: Stage,
        desk: Desk,
        start: Start | None,
        timeout: float,
    ) -> None:
        """Prepare an episode.

        Args:
            name: the host's, for messages.
            owners: the roles that own memories.
            benchmark: what is played.
            task: the task.
            stage: what answers.
            desk: where the team asks.
            start: starts the team for a pass; None where a driver fetches the work.
            timeout: seconds a team that was started may spend on a pass, its answers not counted.
        """
        self._name = name
        self._owners = owners
        self._searches = benchmark.searches if benchmark.searcher is not None else 0
        self._episode = Episode(benchmark, task)
        self._stage = stage
        self._desk = desk
        self._start = start
        self._timeout = timeout
        self._contexts: dict[str, str] = {}
        self._blocks: dict[str, str] = {}
        self._calls: Counter[str] = Counter()

    def play(self) -> Played:
        """The whole episode."""
        episode = self._episode
        while not episode.done:
            work = self._desk.open(episode.task.text, user_message(episode))
            try:
                if self._start is None:
                    done, action = self._pass(None)
                else:
                    with self._start(work):
                        done, action = self._pass(self._timeout)
            finally:
                self._desk.withdraw()
            for role, spoken in done.heard:
                episode.message(role, spoken) if role else episode.information(spoken)
            self._calls = done.calls
            episode.act(done.last, action)
        return episode.played(self._contexts)

    def _pass(self, seconds: float | None) -> tuple[_Pass, str]:
        """Answer the team until it acts; a new beginning forgets what the last one asked."""
        now = self._begin("")
        while True:
            asked_at = time.monotonic()
            try:
                item = self._desk.take(seconds)
            except queue.Empty:
                raise Infrastructure(
                    f"host {self._name}: no answer within {self._timeout:g} s; "
                    "give it a longer timeout, or let it end"
                ) from None
            if seconds is not None:
                seconds = max(seconds - (time.monotonic() - asked_at), 0.0)
            if not self._desk.current(item):
                continue
            if item.run != now.run:
                now = self._begin(item.run)
            match item:
                case Answer():
                    return now, item.text
                case Trouble():
                    raise Infrastructure(f"host {self._name}: the command {item.reason}")
                case Call() | Lookup():
                    self._serve(now, item)

    def _begin(self, run: str) -> _Pass:
        return _Pass(run=run, calls=Counter(self._calls), last=self._owners[-1])

    def _serve(self, now: _Pass, item: Call | Lookup) -> None:
        """Answer one request; a client that is gone by then cannot go on with the pass."""
        try:
            if not item.gone():
                spoken = self._say(now, item) if isinstance(item, Call) else self._look(now, item)
                if not item.gone():
                    item.answer(spoken)
                    return
        except (NotServed, Infrastructure) as error:
            item.refuse(error)
            if isinstance(error, Infrastructure):
                raise
            return
        if self._start is not None:
            raise Infrastructure(
                f"host {self._name}: {item.role} hung up before it was answered; "
                "give its client a longer timeout"
            )
        self._desk.again(item.run)

    def _say(self, now: _Pass, call: Call) -> Spoken:
        role, messages = call.role, call.request.messages
        if role in self._owners:
            messages = with_block(messages, self._block(now, role, context_of(messages)))
        now.calls[role] += 1
        turn = Turn(
            role=role, number=now.calls[role], messages=messages, schema=call.request.schema
        )
        (spoken,) = self._stage.ask([turn])
        now.heard.append((role, spoken))
        now.last = role
        return spoken

    def _look(self, now: _Pass, lookup: Lookup) -> Spoken:
        if not self._searches:
            raise NotServed(400, "there is nothing to search on this benchmark")
        if now.searches[lookup.role] == self._searches:
            raise NotServed(400, "no searches are left; answer from what was found")
        now.searches[lookup.role] += 1
        found = self._stage.search(lookup.query)
        now.heard.append(("", found))
        return found

    def _block(self, now: _Pass, role: str, context: str) -> str:
        """The role's memories, chosen by its first request of the episode."""
        if role not in self._blocks:
            self._contexts[role] = context
            self._blocks[role] = self._stage.supply(role, context)
        elif not self._calls[role] and not now.calls[role] and context != self._contexts[role]:
            raise Infrastructure(
                f"host {self._name}: begun again, {role} asked something else; its memories were "
                "chosen by what it asked before, so a team must repeat itself"
            )
        return self._blocks[role]
