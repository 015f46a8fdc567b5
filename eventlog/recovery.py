"""Before a log is written again: whether what lies beside it belongs to it as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from . import chain, files
from .chain import Head
from .errors import BadInput, LogError
from .reader import Reader


def check_beside(path: Path) -> None:
    """Refuse a log that a write-ahead log of another state of it would change for good.

    SQLite takes up the write-ahead log it finds. One put back from a copy, or left where the main
    file was replaced, gives an older state or a mix of two. What a killed writer left cannot: a
    log never falls behind the head of its last closing.

    Where there is none, a log that is shorter than the head beside it is an older copy put in its
    place. It may be gone on with, and the head goes: it would speak against what comes.

    Raises:
        LogError: the two do not belong together, or the file is damaged.
    """
    left = bool(files.size(files.wal_of(path)))
    with closing(Reader(path)) as reader:
        whole = not left or _is_whole(reader)
        if whole and _holds(reader, _head_beside(path)):
            return
    if not left:
        files.head_of(path).unlink()
        return
    wal = files.wal_of(path).name
    raise LogError(
        f"{path}: {wal} beside it is of another state of the log, or one of them is damaged; copy "
        f"both, move {wal} away and run verify: resume if it finds nothing, else restore a copy"
    )


def _is_whole(reader: Reader) -> bool:
    try:
        return reader.rows("pragma integrity_check(1)") == [("ok",)]
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def _head_beside(path: Path) -> Head | None:
    try:
        return Head.from_text(files.head_of(path).read_text("utf-8", errors="replace"))
    except (FileNotFoundError, BadInput):
        return None


def _holds(reader: Reader, head: Head | None) -> bool:
    """Whether the log once ended at ``head``; the head of another log says nothing."""
    facts: dict[str, str] = dict(reader.rows("select key, value from log_meta"))
    if head is None or head.position == 0 or head.origin != chain.origin(facts.get("log_id", "")):
        return True
    rows = reader.rows("select hash from events where position = ?", (head.position,))
    return rows == [(bytes.fromhex(head.hash),)]
