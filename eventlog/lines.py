"""The lines of an export. Each has one form, so that a changed byte is another line.

The first line holds the fixed facts of the log, the last one its head, so that a cut file shows.
Between them come the events in order, each blob just before the first event that cites it. A
payload is embedded as the object it is; should its stored bytes not be canonical, as text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from .chain import Head, Header
from .files import Row

FORMAT = "discernmem-export/1"

HEADER = tuple(field.name for field in attrs.fields(Header))
HEAD = tuple(field.name for field in attrs.fields(Head))


def facts_line(facts: Mapping[str, str]) -> bytes:
    """The first line."""
    return _line({"export": FORMAT, **facts})


def blob_line(sha256: str, content: bytes) -> bytes:
    """A content, as text where it is one."""
    try:
        return _line({"blob": sha256, "text": content.decode()})
    except UnicodeDecodeError:
        return _line({"blob": sha256, "base64": base64.b64encode(content).decode()})


def content_of(line: Mapping[str, Any]) -> bytes:
    """The content in the line of a blob.

    Raises:
        KeyError, AttributeError, ValueError: it is not such a line.
    """
    if "text" in line:
        content: bytes = line["text"].encode()
        return content
    return base64.b64decode(line["base64"], validate=True)


def event_line(
    header: Row, payload: bytes, links: Mapping[str, str], hash_: bytes, *, canonical: bool
) -> bytes:
    """An event, with the values of a `Header`; ``canonical`` is what `is_canonical` says."""
    embedded = orjson.Fragment(payload) if canonical else payload.decode()
    fields = dict(zip(HEADER, header, strict=True))
    return _line({**fields, "payload": embedded, "blobs": links, "hash": hash_.hex()})


def payload_of(line: Mapping[str, Any]) -> bytes:
    """The stored payload of the event in a line.

    Raises:
        KeyError: it has none.
    """
    embedded = line["payload"]
    return embedded.encode() if type(embedded) is str else _dump(embedded)


def is_canonical(payload: bytes) -> bool:
    """Whether a payload is embedded as it is."""
    try:
        return _dump(orjson.loads(payload)) == payload
    except orjson.JSONDecodeError:
        return False


def head_line(head: Head) -> bytes:
    """The last line."""
    return _line({"head": attrs.asdict(head)})


def _line(value: dict[str, Any]) -> bytes:
    return _dump(value) + b"\n"


def _dump(value: Any) -> bytes:
    """Canonical JSON of what was JSON before, and so has no number that is none."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
