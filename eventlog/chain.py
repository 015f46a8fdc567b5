"""The hash chain: what a link covers, the head that stands for a whole log, ids of events."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

import attrs
import orjson

from .errors import BadInput

HASH = "sha256/1"
ORIGIN = "discernmem/eventlog"

_HEAD = re.compile(r"(\S[^\n]*)\n(0|[1-9][0-9]{0,17})\n([0-9a-f]{64})\n?")


@attrs.frozen
class Head:
    """The last link of a log: its origin, position and hash.

    Kept outside the file it shows that a later state of the file continues this one; nothing inside
    the file can show that its tail was cut.
    """

    origin: str
    position: int
    hash: str

    def to_text(self) -> str:
        """The head as three lines of text, the form of a C2SP checkpoint."""
        return f"{self.origin}\n{self.position}\n{self.hash}\n"

    @classmethod
    def from_text(cls, text: str) -> Head:
        """The head three lines of text stand for.

        Raises:
            BadInput: the text is not such three lines.
        """
        match = _HEAD.fullmatch(text)
        if match is None:
            raise BadInput("not a head: expected three lines, origin, position and SHA-256 in hex")
        return cls(match[1], int(match[2]), match[3])


@attrs.frozen
class Header:
    """Everything of a recorded event but its payload and blobs, in the order the hash covers it."""

    position: int
    event_id: str
    stream_id: str
    stream_version: int
    type: str
    schema_version: int
    task_index: int | None
    recorded_at: str
    actor: str
    causation_id: str | None
    correlation_id: str


def origin(log_id: str) -> str:
    """The first line of the heads of a log."""
    return f"{ORIGIN}/{log_id}"


def genesis(log_id: str) -> bytes:
    """The link before the first event; it differs between logs so that none can be spliced."""
    return hashlib.sha256(f"{ORIGIN}\n{log_id}".encode()).digest()


def link(prev: bytes, header: tuple[object, ...], payload: bytes, blobs: bytes) -> bytes:
    """The hash of an event, 32 bytes.

    Args:
        prev: the link before.
        header: the values of a `Header`, hashed as a compact JSON array.
        payload: the stored payload.
        blobs: what `links` makes of the event's blobs.
    """
    sha256 = hashlib.sha256
    return sha256(
        prev
        + sha256(orjson.dumps(header)).digest()
        + sha256(payload).digest()
        + sha256(blobs).digest()
    ).digest()


def links(blobs: Collection[tuple[str, str]]) -> bytes:
    """The blobs of an event as the hash covers them: JSON of sorted (name, SHA-256 hex) pairs."""
    return orjson.dumps(sorted(blobs)) if blobs else b"[]"


def event_id(run: str, stream: str, stream_version: int, type_name: str) -> str:
    """The id of an event, 24 hex digits: the same in every run that does the same."""
    key = orjson.dumps([run, stream, stream_version, type_name])
    return hashlib.sha256(key).hexdigest()[:24]
