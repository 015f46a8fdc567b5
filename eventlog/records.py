"""What goes into the log and what comes out of it."""

from __future__ import annotations

import re
from typing import NamedTuple

import attrs

from .citations import citations
from .codec import decode, digest, digest_json, encode
from .errors import BadInput
from .events import Event

_SHA256 = re.compile("[0-9a-f]{64}").fullmatch

MAX_PAYLOAD = 64 << 10
"""Bytes a payload may have; what is larger belongs into a blob."""


@attrs.frozen(kw_only=True)
class Draft:
    """An event to append.

    ``task_index`` is the task being executed (None outside tasks), ``actor`` the component that
    decided, ``cause`` the id of the direct cause. ``blobs`` are contents whose SHA-256 the payload
    cites; a cited content that the log has already may be left out.
    """

    event: Event
    task_index: int | None = None
    actor: str
    cause: str | None = None
    blobs: tuple[bytes, ...] = ()


class Recorded(NamedTuple):
    """An event of the log with its header; ``payload`` holds the stored bytes.

    ``recorded_at`` is for people, no rule reads it. ``hash`` is the chain's link, in hex.
    A tuple, since one is made for every event of every rebuild.
    """

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
    payload: bytes
    hash: str
    event: Event

    @property
    def content(self) -> str:
        """Digest of all that a retry of the append must repeat."""
        return _content(
            self.stream_id,
            self.type,
            self.schema_version,
            self.task_index,
            self.actor,
            self.causation_id,
            self.payload,
        )


class Prepared(NamedTuple):
    """A draft made ready to be written: all that does not depend on its place in the log.

    ``event`` is read back from ``payload``, so that what a writer gets is what a reader will see.
    ``cited`` maps names of the event's blobs to SHA-256 in hex, ``blobs`` SHA-256 to contents.
    """

    draft: Draft
    type: str
    stream: str
    payload: bytes
    event: Event
    cited: dict[str, str]
    blobs: dict[str, bytes]

    @property
    def content(self) -> str:
        """As `Recorded.content`, of what would be recorded."""
        draft = self.draft
        return _content(
            self.stream,
            self.type,
            self.event.SCHEMA_VERSION,
            draft.task_index,
            draft.actor,
            draft.cause,
            self.payload,
        )


def _content(*parts: str | int | bytes | None) -> str:
    return digest_json([part.decode() if isinstance(part, bytes) else part for part in parts])


def prepare(draft: Draft) -> Prepared:
    """Encode a draft and check it by itself.

    Raises:
        ValueError: a field of the event is not JSON.
        LogError: a field has another type than it declares.
        BadInput: the payload is too large, cites what is no digest, or does not cite a blob given.
    """
    event = draft.event
    name = type(event).__name__
    payload = encode(event)
    if len(payload) > MAX_PAYLOAD:
        raise BadInput(
            f"{name}: the payload has {len(payload)} bytes, at most {MAX_PAYLOAD} fit; "
            "put long texts into blobs"
        )
    event = decode(name, event.SCHEMA_VERSION, payload)
    cited = citations(event)
    for field, sha256 in cited.items():
        if not _SHA256(sha256):
            raise BadInput(f"{name}: {field} is {sha256!r:.80}, not the SHA-256 of a blob in hex")
    blobs = {digest(content): content for content in draft.blobs}
    for sha256 in blobs.keys() - cited.values():
        raise BadInput(
            f"{name}: a blob of {len(blobs[sha256])} bytes is given that no field of it cites"
        )
    return Prepared(
        draft=draft,
        type=name,
        stream=event.stream,
        payload=payload,
        event=event,
        cited=cited,
        blobs=blobs,
    )
