"""An export to read: opening the file, its lines one by one, and the head it ends with."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import orjson

from . import chain, files, lines
from .chain import Head
from .codec import digest
from .errors import BadInput, LogError
from .files import Row
from .prefix import fresh

_UNPACKING = (gzip.BadGzipFile, EOFError, zlib.error)

_GZIP = b"\x1f\x8b"
_LONGEST_HEAD = 4096
_LONGEST_FIRST = 64 << 10
_CHUNK = 1 << 20
_LOG_ID = re.compile("[0-9a-f]{32}").fullmatch


@contextmanager
def open_export(path: str | Path) -> Iterator[BinaryIO]:
    """An export to read, unpacked if it is compressed, whatever its name.

    Raises:
        BadInput: there is no such file, or it cannot be read.
    """
    with _opened(Path(path)) as raw:
        if raw.peek(2)[:2] == _GZIP:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield raw


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        message = f"{path}: not readable: {error.strerror}; give the path of an export"
        raise BadInput(message) from None


def head_from(path: str | Path) -> Head:
    """The head in a file that holds one, or that an export in a file ends with.

    Raises:
        BadInput: there is no such file, or it is neither.
    """
    with open_export(path) as source:
        try:
            end = _end(source)
        except _UNPACKING as error:
            raise BadInput(f"{path}: cannot be unpacked: {error}; export the log again") from None
        except OSError as error:
            raise BadInput(f"{path}: not readable: {error.strerror}; give another file") from None
    head = _head_of_export(end) or _head_of_text(end)
    if head is None:
        raise BadInput(
            f"{path}: neither a head (three lines: origin, position and SHA-256 in hex) nor a "
            "whole export; give one of these"
        )
    return head


def _end(source: BinaryIO) -> bytes:
    """The last bytes of a file; only of an unpacked one all others are read."""
    if isinstance(source, gzip.GzipFile):
        end = b""
        while chunk := source.read(_CHUNK):
            end = (end + chunk)[-_LONGEST_HEAD:]
        return end
    size = source.seek(0, os.SEEK_END)
    source.seek(max(0, size - _LONGEST_HEAD))
    return source.read()


def _head_of_export(end: bytes) -> Head | None:
    last = end[end.rfind(b"\n", 0, -1) + 1 :]
    try:
        fields = orjson.loads(last)["head"]
        head = Head.from_text("\n".join(map(str, (fields[key] for key in lines.HEAD))))
    except (KeyError, TypeError, orjson.JSONDecodeError, BadInput):
        return None
    return head if lines.head_line(head) == last else None


def _head_of_text(text: bytes) -> Head | None:
    try:
        return Head.from_text(text.decode())
    except (UnicodeDecodeError, BadInput):
        return None


class Unreadable(ValueError):
    """An event that this code does not know."""


class Event(NamedTuple):
    """An event of an export, with the values of a `chain.Header`.

    ``links`` maps names to SHA-256 in hex; ``contents`` are the blobs that stand before it.
    """

    header: Row
    payload: bytes
    links: dict[str, str]
    hash: bytes
    contents: list[tuple[bytes, bytes]]


class Export:
    """One pass over the lines of an export, each refused unless it is as `export` writes it.

    Hashes of events are for the caller to check. ``log_id`` and ``run`` are set by `begin`,
    ``head`` when the last of the `events` was given, ``blobs`` grows with them.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.blobs: set[bytes] = set()
        self._source = source
        self._number = 0

    @contextmanager
    def named(self) -> Iterator[None]:
        """Tell what is wrong with the line that was read last.

        Raises:
            BadInput: it is cut, changed, or none of an export.
            LogError: it is an event this code cannot read.
        """
        try:
            yield
        except Unreadable as error:
            raise LogError(f"export line {self._number}: {error}") from None
        except KeyError as error:
            raise BadInput(f"export line {self._number}: {error} is missing") from None
        except _UNPACKING as error:
            message = f"cannot be unpacked: {error}; export the log again"
            raise BadInput(f"export line {self._number}: {message}") from None
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"export line {self._number}: {error}; export the log again") from None

    def begin(self) -> None:
        """Read the first line."""
        raw, line = self._next(_LONGEST_FIRST)
        if line.get("export") != lines.FORMAT:
            raise ValueError(f"is not the first one of {lines.FORMAT}")
        self.log_id, self.run = line["log_id"], line["run"]
        if not _LOG_ID(self.log_id) or not self.run or not self.run.isprintable():
            raise ValueError("does not name a log and a run")
        self._require(lines.facts_line(files.facts(self.log_id, self.run)), raw)

    def events(self) -> Iterator[Event]:
        """The events in order, up to the line of the head and nothing behind."""
        position, hash_ = 0, chain.genesis(self.log_id)
        contents: list[tuple[bytes, bytes]] = []
        while True:
            raw, line = self._next()
            if "blob" in line:
                contents.append(self._content(raw, line))
            elif "head" not in line:
                event = self._event(raw, line, contents)
                position, hash_, contents = position + 1, event.hash, []
                yield event
            else:
                self.head = Head(chain.origin(self.log_id), position, hash_.hex())
                self._require(lines.head_line(self.head), raw)
                if contents or self._source.read(1):
                    raise ValueError("the head is not just behind the last event, at the end")
                return

    def _next(self, longest: int = -1) -> tuple[bytes, dict[str, Any]]:
        self._number += 1
        raw = self._source.readline(longest)
        if not raw.endswith(b"\n"):
            raise ValueError("the export is cut here" if longest < 0 else "is not of an export")
        line = orjson.loads(raw)
        if type(line) is not dict:
            raise TypeError("is not an object")
        return raw, line

    def _require(self, expected: bytes, raw: bytes) -> None:
        if raw != expected:
            raise ValueError("was changed: an export does not write it like that")

    def _content(self, raw: bytes, line: dict[str, Any]) -> tuple[bytes, bytes]:
        content = lines.content_of(line)
        sha256 = digest(content)
        if sha256 != line["blob"]:
            raise ValueError(f"the blob has digest {sha256[:12]}, not {line['blob']:.12}")
        self._require(lines.blob_line(sha256, content), raw)
        return bytes.fromhex(sha256), content

    def _event(
        self, raw: bytes, line: dict[str, Any], contents: list[tuple[bytes, bytes]]
    ) -> Event:
        header = tuple(line[name] for name in lines.HEADER)
        payload = lines.payload_of(line)
        links = {name: bytes.fromhex(sha256).hex() for name, sha256 in line["blobs"].items()}
        hash_ = bytes.fromhex(line["hash"])
        # What was an object is canonical by now.
        canonical = type(line["payload"]) is not str or lines.is_canonical(payload)
        expected = lines.event_line(header, payload, links, hash_, canonical=canonical)
        self._require(expected, raw)
        if [sha256 for sha256, _ in contents] != fresh(links, self.blobs):
            raise ValueError("the blobs before the event are not those it is the first to cite")
        return Event(header, payload, links, hash_, contents)
