"""A log as JSON Lines and back, with the same bytes in every payload and the same chain.

The first line holds the fixed facts of the log, the last one its head, so that a cut file shows.
Between them come the events in order, each blob just before the first event that cites it. A
payload is embedded as the object it is; should its stored bytes not be canonical, as text.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import attrs
import orjson

from . import blobs, chain, files
from .chain import Head, Header
from .citations import citations
from .codec import canonical, decode, digest
from .errors import BadInput, LogError
from .lock import WriterLock
from .log import EventLog
from .verify import verify_file
from .writing import INSERT_EVENT, INSERT_LINK

FORMAT = "discernmem-export/1"

_HEADER = tuple(field.name for field in attrs.fields(Header))
_COLUMNS = f"{', '.join(_HEADER)}, cast(payload as blob), hash"
_META = ("log_id", "created_at", "run")


def export(log: EventLog, out: BinaryIO) -> Head:
    """Write a log as canonical JSON Lines; the head it was exported up to.

    Raises:
        LogError: the log is damaged; what was written has no head and cannot be imported.
    """
    head = log.head()
    meta: dict[str, str] = dict(log.rows("select key, value from log_meta"))
    _line(out, {"export": FORMAT, **meta})
    written: set[str] = set()
    prev = chain.genesis(log.log_id)
    for row in _events(log, head.position):
        header = dict(zip(_HEADER, row, strict=False))
        payload, hash_ = row[len(_HEADER) :]
        links: dict[str, str] = dict(
            log.rows(
                "select name, lower(hex(sha256)) from event_blobs where position = ?",
                (header["position"],),
            )
        )
        if not _intact(prev, row, links):
            raise LogError(f"{log.path}: event {header['position']} is damaged; run verify")
        prev = hash_
        for _, sha256 in sorted(links.items()):
            if sha256 not in written:
                written.add(sha256)
                _line(out, {"blob": sha256, **_content(log.blob(sha256))})
        embedded = orjson.loads(payload)
        if canonical(embedded) != payload:
            embedded = payload.decode()
        _line(out, {**header, "payload": embedded, "blobs": links, "hash": hash_.hex()})
    _line(out, {"head": attrs.asdict(head)})
    return head


def _intact(prev: bytes, row: files.Row, links: dict[str, str]) -> bool:
    *header, payload, hash_ = row
    try:
        return chain.link(prev, tuple(header), payload, chain.links(links.items())) == bytes(hash_)
    except TypeError:
        return False


def _line(out: BinaryIO, value: dict[str, Any]) -> None:
    out.write(canonical(value) + b"\n")


def _events(log: EventLog, last: int) -> Iterator[files.Row]:
    sql = (
        f"select {_COLUMNS} from events where position > ? and position <= ?"
        " order by position limit 1000"
    )
    after = 0
    while rows := log.rows(sql, (after, last)):
        yield from rows
        after = rows[-1][0]


def _content(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def import_(source: BinaryIO, path: str | Path) -> Head:
    """Make a log from an export, checking every hash; the head of the new log.

    Raises:
        BadInput: the export is cut, changed or not one, or the path is taken; nothing is left
            behind.
        LogError: it holds events this code cannot read.
        Infrastructure: the disk is full or fails.
    """
    path = Path(path)
    lock = WriterLock(path)
    draft = path.with_name(path.name + ".new")
    try:
        files.refuse_taken(path)
        draft.unlink(missing_ok=True)
        with files.reported(path):
            head = _Import(source, draft).run()
            _check(draft, head)
            files.publish(draft, path)
        return head
    finally:
        for left in (draft, files.wal_of(draft), draft.with_name(draft.name + "-shm")):
            left.unlink(missing_ok=True)
        lock.release()


def _check(path: Path, head: Head) -> None:
    """Refuse a log whose links hold but which is not sound otherwise."""
    for problem in verify_file(path, head=head).problems:
        raise BadInput(
            f"the export is not of a sound log: event {problem.position}: {problem.message}"
        )


class _Import:
    """One pass over an export, in one transaction on a new file."""

    def __init__(self, source: BinaryIO, path: Path) -> None:
        self._source = source
        self._path = path
        self._number = 0

    def run(self) -> Head:
        try:
            meta = self._next()
            if meta.get("export") != FORMAT:
                raise ValueError(f"is not a header of {FORMAT}")
            log_id, created_at, run = (_text(meta, key) for key in _META)
            files.initialise(self._path, log_id=log_id, created_at=created_at, run=run)
            connection = files.connect_writing(self._path)
            try:
                if dict(connection.execute("select key, value from log_meta")) != {
                    key: value for key, value in meta.items() if key != "export"
                }:
                    raise ValueError("does not have the facts of a log of this format")
                connection.execute("begin immediate")
                head = self._fill(connection, log_id)
                connection.execute("commit")
                connection.execute("pragma wal_checkpoint(truncate)")
            finally:
                connection.close()
        except LogError as error:
            raise LogError(f"export line {self._number}: {error}") from None
        except KeyError as error:
            raise BadInput(f"export line {self._number}: {error} is missing") from None
        except (AttributeError, TypeError, ValueError, sqlite3.IntegrityError) as error:
            raise BadInput(f"export line {self._number}: {error}; export the log again") from None
        return head

    def _next(self) -> dict[str, Any]:
        self._number += 1
        line = self._source.readline()
        if not line.endswith(b"\n"):
            raise ValueError("the export is cut here")
        value = orjson.loads(line)
        if type(value) is not dict:
            raise TypeError("is not an object")
        return value

    def _fill(self, connection: sqlite3.Connection, log_id: str) -> Head:
        position, prev = 0, chain.genesis(log_id)
        while True:
            line = self._next()
            if "blob" in line:
                content = _blob(line)
                if digest(content) != line["blob"]:
                    raise ValueError("the blob has another digest")
                blobs.store(connection, [(bytes.fromhex(line["blob"]), content)])
            elif "head" in line:
                head = Head(chain.origin(log_id), position, prev.hex())
                if line["head"] != attrs.asdict(head):
                    raise ValueError("the export does not end at its head")
                if self._source.read(1):
                    raise ValueError("there is more behind the head")
                return head
            else:
                prev = self._event(connection, line, prev)
                position += 1

    def _event(self, connection: sqlite3.Connection, line: dict[str, Any], prev: bytes) -> bytes:
        header = tuple(line[name] for name in _HEADER)
        embedded = line["payload"]
        payload = embedded.encode() if type(embedded) is str else canonical(embedded)
        links: dict[str, str] = line["blobs"]
        if chain.link(prev, header, payload, chain.links(links.items())).hex() != line["hash"]:
            raise ValueError("the event has another hash: it was changed, or one is missing")
        if citations(decode(line["type"], line["schema_version"], payload)) != links:
            raise ValueError("the event does not cite the blobs linked to it")
        connection.executemany(
            INSERT_LINK,
            [(header[0], name, bytes.fromhex(sha256)) for name, sha256 in links.items()],
        )
        hash_ = bytes.fromhex(line["hash"])
        connection.execute(INSERT_EVENT, (*header, payload.decode(), prev, hash_))
        return hash_


def _text(line: dict[str, Any], key: str) -> str:
    value = line[key]
    if type(value) is not str:
        raise TypeError(f"{key} is not a text")
    return value


def _blob(line: dict[str, Any]) -> bytes:
    if "text" in line:
        return _text(line, "text").encode()
    return base64.b64decode(_text(line, "base64"), validate=True)
