"""What every event must hold against the ones before it: one check for `verify` and for `import_`.

It remembers little however long the log is: which blobs are there, and the last events' ids and
streams. What lies further back it asks the log for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from . import chain
from .citations import citations
from .codec import decode
from .errors import LogError
from .events import Event, RunForked
from .files import Row

Ask = Callable[[str, Sequence[object]], list[Row]]
"""Answers a query with all rows over the events before, like `Readable.rows`."""

Finding = tuple[str, str]
"""The kind of a problem and what it is."""

HEADER = (
    "position, event_id, stream_id, stream_version, type, schema_version, task_index, recorded_at,"
    " actor, causation_id, correlation_id"
)
"""The columns that `chain.Header` names and the hash covers, in this order."""

_RECENT = 50_000
_PAGE = 1000


V = TypeVar("V")


class _Recent(Generic[V]):
    """What was put last, at least `_RECENT` of it and at most twice as much."""

    def __init__(self) -> None:
        self._young: dict[str, V] = {}
        self._old: dict[str, V] = {}

    def put(self, key: str, value: V) -> None:
        self._young[key] = value
        if len(self._young) > _RECENT:
            self._old, self._young = self._young, {}

    def get(self, key: str) -> V | None:
        return self._young.get(key) or self._old.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._young or key in self._old


class EventCheck:
    """Checks events in order.

    ``position`` and ``hash`` are those of the last event given, ``blobs`` the SHA-256 of the
    contents that are known to be whole, to be added to by the caller.

    Args:
        log_id: what tells the log from every other.
        run: the run the log records.
        ask: for what lies further back.
        last: position and hash of the event to go on after; by default from the first one.
    """

    def __init__(
        self, log_id: str, run: str, ask: Ask, *, last: tuple[int, bytes] | None = None
    ) -> None:
        self.position, self.hash = last or (0, chain.genesis(log_id))
        self.blobs: set[bytes] = set()
        self._run = run
        self._ask = ask
        self._ids: _Recent[None] = _Recent()
        self._versions: _Recent[int] = _Recent()

    def lose(self, position: int) -> None:
        """Go on behind an event that cannot be read."""
        self.position, self.hash = position, b""

    def check(
        self, header: Row, payload: bytes, links: Mapping[str, str], prev: bytes, hash_: bytes
    ) -> list[Finding]:
        """What is wrong with the next event.

        Args:
            header: the values of a `chain.Header`.
            payload: the stored bytes.
            links: the blobs linked to it, names to SHA-256 in hex.
            prev: the link before it, as it says.
            hash_: its own link, as it says.

        Raises:
            TypeError, ValueError, AttributeError, LogError: a value is not even of its type.
        """
        found: list[Finding] = []
        position = header[0]
        if position != self.position + 1:
            found.append(("gap", f"follows position {self.position}"))
        if self.hash and prev != self.hash:
            found.append(("chain", "prev_hash is not the hash of the event before"))
        # From here the stored hash counts, so that one damaged event is one problem.
        self.position, self.hash = position, hash_
        if chain.link(prev, header, payload, chain.links(links.items())) != hash_:
            found.append(("hash", "the hash is not that of the header, payload and blobs"))
        self._check_identity(header, found)
        self._check_payload(header, payload, links, found)
        self._ids.put(header[1], None)
        return found

    def _check_identity(self, header: Row, found: list[Finding]) -> None:
        position, event_id, stream, version, type_name, *_, cause, correlation = header
        expected = self._next_version(stream, version, position)
        if version != expected:
            found.append(("stream", f"{stream} goes to version {version}, not {expected}"))
        if event_id != chain.event_id(self._run, stream, version, type_name):
            found.append(("id", f"event_id {event_id} is not derived from the event"))
        if correlation != self._run:
            found.append(("id", f"is of run {correlation}, the log is of {self._run}"))
        if cause is not None and not self._known(cause):
            found.append(("reference", f"cause {cause} is not an earlier event"))

    def _next_version(self, stream: str, version: int, position: int) -> int:
        last = self._versions.get(stream)
        if last is None and version == 1:
            # Nor is there one further back: of a stream and a version the table has only one.
            last = 0
        elif last is None:
            rows = self._ask(
                "select stream_version from events where stream_id = ? and position < ?"
                " order by stream_version desc limit 1",
                (stream, position),
            )
            last = rows[0][0] if rows else 0
        self._versions.put(stream, version)
        return last + 1

    def _known(self, event_id: str) -> bool:
        if event_id in self._ids:
            return True
        # The check is past these: what they hold of another position is named there.
        sql = "select 1 from events where event_id = ? and position < ?"
        return bool(self._ask(sql, (event_id, self.position)))

    def _check_payload(
        self, header: Row, payload: bytes, links: Mapping[str, str], found: list[Finding]
    ) -> None:
        try:
            event = decode(header[4], header[5], payload)
        except LogError as error:
            found.append(("payload", str(error)))
            return
        if event.stream != header[2]:
            found.append(("stream", f"recorded in {header[2]}, is of {event.stream}"))
        for event_id in getattr(event, "evidence", ()):
            if not self._known(event_id):
                found.append(("reference", f"evidence {event_id} is not an earlier event"))
        self._check_blobs(event, links, found)
        if isinstance(event, RunForked):
            self._check_fork(event, found)

    def _check_blobs(self, event: Event, links: Mapping[str, str], found: list[Finding]) -> None:
        cited = citations(event)
        for name, sha256 in cited.items():
            if links.get(name) != sha256:
                found.append(("blob", f"{name} cites {sha256[:12]}, which is not linked"))
            if not self._whole(sha256):
                found.append(("blob", f"{name} cites {sha256[:12]}, which is not there"))
        for name in sorted(links.keys() - cited.keys()):
            found.append(("blob", f"a blob is linked as {name}, which is not cited"))

    def _whole(self, sha256: str) -> bool:
        try:
            return bytes.fromhex(sha256) in self.blobs
        except ValueError:
            return False

    def _check_fork(self, event: RunForked, found: list[Finding]) -> None:
        """A fork begins with the events of its origin, whose chain can be made again from them."""
        copied = self.position - 1
        if event.position != copied:
            found.append(("fork", f"forked at position {event.position}, is behind {copied}"))
        elif origin_hash(self._ask, event.origin, copied).hex() != event.hash:
            found.append(("fork", f"the {copied} events before are not those of {event.origin}"))


def origin_hash(ask: Ask, log_id: str, position: int) -> bytes:
    """The hash the events up to ``position`` would have in the log ``log_id``."""
    hash_, after = chain.genesis(log_id), 0
    while after < position:
        until = min(after + _PAGE, position)
        span = (after, until)
        links = linked(ask, after, until)
        rows = ask(
            f"select {HEADER}, cast(payload as blob) from events"
            " where position > ? and position <= ?",
            span,
        )
        for *header, payload in rows:
            blobs = chain.links(links.get(header[0], {}).items())
            hash_ = chain.link(hash_, tuple(header), payload, blobs)
        after = until
    return hash_


def linked(ask: Ask, after: int, until: int) -> dict[int, dict[str, str]]:
    """The blobs of the events after one position up to another: names to SHA-256 in hex."""
    links: dict[int, dict[str, str]] = {}
    for position, name, sha256 in ask(
        "select position, name, lower(hex(sha256)) from event_blobs"
        " where position > ? and position <= ?",
        (after, until),
    ):
        links.setdefault(position, {})[name] = sha256
    return links
