"""One visit of a page: what it is about, what it asks for, and what it is answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from ...eventlog.chain import Head
from ...eventlog.errors import BadInput
from ...eventlog.log import EventLog, Recorded
from .catalogue import Catalogue
from .links import Links

_NUMBER = re.compile("[0-9]{1,15}")


class NotHere(BadInput):
    """The log has nothing of that name; the message says what it has."""


@attrs.frozen
class Visit:
    """A request: the log, opened for it, where it ended then, and the query of the address."""

    log: EventLog
    catalogue: Catalogue
    head: Head
    link: Links
    query: Mapping[str, str]

    def text(self, name: str) -> str:
        """A value of the query, without what cannot be seen around it."""
        return self.query.get(name, "").strip()

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """A value of the query if it is one of these, else the first of them."""
        value = self.text(name)
        return value if value in choices else choices[0]

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number of the query, brought into a range; the default if it is none."""
        value = self.text(name)
        found = int(value) if _NUMBER.fullmatch(value) else default
        return max(low, min(found, high))


@attrs.frozen
class Answer:
    """A page: its template, its heading, and what the template is given."""

    template: str
    title: str
    context: Mapping[str, Any]


@attrs.frozen
class Plain:
    """A text that is no page."""

    text: str


@attrs.frozen
class Redirect:
    """Where what was asked for is instead."""

    to: str


@attrs.frozen
class Pages:
    """Which of several pages of rows this is; pages count from 1."""

    page: int
    size: int
    rows: int

    @classmethod
    def asked(cls, visit: Visit, rows: int, size: int, name: str = "page") -> Pages:
        """The page a visit asks for, the nearest one there is."""
        return cls(visit.number(name, 1, 1, cls(1, size, rows).last), size, rows)

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.rows // self.size))

    @property
    def skip(self) -> int:
        """How many rows come before this page."""
        return (self.page - 1) * self.size

    @property
    def first_row(self) -> int:
        """The number of the first row of this page, 0 if there are none."""
        return self.skip + 1 if self.rows else 0

    @property
    def last_row(self) -> int:
        """The number of the last row of this page."""
        return min(self.skip + self.size, self.rows)


def event_at(visit: Visit, position: str, *types: str) -> Recorded:
    """The event at a position, of one of these types if any are given.

    Raises:
        NotHere: there is none.
    """
    found = visit.log.at(int(position)) if _NUMBER.fullmatch(position) else None
    if found is None:
        last = visit.head.position
        raise NotHere(f"No event {position}: this log has the events 1 to {last}.")
    if types and found.type not in types:
        raise NotHere(f"Event {position} is of type {found.type}, not {' or '.join(types)}.")
    return found
