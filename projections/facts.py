"""The events of one memory as typed facts with their places, and what led to each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import attrs

from ..eventlog import events as ev
from ..eventlog.errors import LogError
from ..eventlog.log import EventLog, Recorded

E = TypeVar("E", bound=ev.Event)


@attrs.frozen(kw_only=True)
class Fact(Generic[E]):
    """An event of a known type and where the log says it.

    ``task_index`` is the task in whose cycle it was recorded, None between two tasks.
    """

    position: int
    event_id: str
    task_index: int | None
    event: E


def fact(recorded: Recorded, kind: type[E]) -> Fact[E]:
    """A recorded event of a known type as a fact."""
    assert isinstance(recorded.event, kind)
    return Fact(
        position=recorded.position,
        event_id=recorded.event_id,
        task_index=recorded.task_index,
        event=recorded.event,
    )


class Facts:
    """The stream of a memory, read once, and of the rest of the log what was learned by id."""

    def __init__(self, log: EventLog, recorded: Iterable[Recorded]) -> None:
        self._log = log
        self.own = tuple(recorded)
        self._by_id = {each.event_id: each for each in self.own}
        self._caused: dict[str, list[Recorded]] = {}
        self._of_repair: dict[str, list[Recorded]] = {}
        for each in self.own:
            if each.causation_id is not None:
                self._caused.setdefault(each.causation_id, []).append(each)
            if repair := getattr(each.event, "repair", ""):
                self._of_repair.setdefault(repair, []).append(each)

    def learn(self, recorded: Iterable[Recorded]) -> None:
        """Read what these events name as their evidence, all at once."""
        wanted = {event_id for each in recorded for event_id in evidence_of(each)}
        self._by_id.update(self._log.by_ids(wanted - self._by_id.keys()))

    def named(self, event_id: str, kind: type[E]) -> Fact[E]:
        """The own or learned event with an id.

        Raises:
            LogError: there is none.
        """
        recorded = self._by_id.get(event_id)
        if recorded is None:
            raise LogError(f"{self._log.path}: an event rests on {event_id}, which is missing")
        return fact(recorded, kind)

    def evidence(self, recorded: Recorded) -> Iterator[Recorded]:
        """The own and learned events that an event names as its evidence, in that order."""
        return (self._by_id[each] for each in evidence_of(recorded) if each in self._by_id)

    def caused(self, recorded: Recorded, *kinds: type[ev.Event]) -> list[Recorded]:
        """The own events of these types that an event caused directly, in order."""
        return [
            each
            for each in self._caused.get(recorded.event_id, ())
            if isinstance(each.event, kinds)
        ]

    def of_repair(self, name: str) -> Sequence[Recorded]:
        """The own events of a repair, in order."""
        return self._of_repair[name]

    def cause(self, recorded: Recorded) -> Recorded | None:
        """The own event that caused an event directly."""
        return self._by_id.get(recorded.causation_id or "")

    def ancestors(self, recorded: Recorded) -> Iterator[Recorded]:
        """An own event, then the own events that led to it, nearest first."""
        each: Recorded | None = recorded
        while each is not None:
            yield each
            each = self.cause(each)

    def task_of(self, recorded: Recorded) -> int:
        """As the function `task_of`."""
        return task_of(self._log, recorded)

    def above(self, recorded: Recorded, *kinds: type[ev.Event]) -> Recorded | None:
        """The event itself, or the nearest one that led to it, of one of these types."""
        return next((e for e in self.ancestors(recorded) if isinstance(e.event, kinds)), None)


def task_of(log: EventLog, recorded: Recorded) -> int:
    """The index of the last task begun when an event was recorded, 0 before the first."""
    if recorded.task_index is not None:
        return recorded.task_index
    rows = log.rows(
        "select task_index from events where position < ? and task_index is not null"
        " order by position desc limit 1",
        (recorded.position,),
    )
    return int(rows[0][0]) if rows else 0


def evidence_of(recorded: Recorded) -> Collection[str]:
    """The ids of the further events that an event says it rests on."""
    cited: tuple[str, ...] = getattr(recorded.event, "evidence", ())
    return cited
