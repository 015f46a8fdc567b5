"""The log as a file: making one, telling whether a file is one, connecting to write it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .chain import HASH, genesis
from .codec import ENCODER
from .errors import BadInput, Conflict, Infrastructure, LogError

APPLICATION_ID = 0x44534D4D
"""``DSMM`` in the header of every log, so that `file` and we can tell what it is."""

FORMAT = 1
"""Version of the schema, in the header as user_version."""

OBJECTS = "select type, name, sql from sqlite_master where substr(name, 1, 7) <> 'sqlite_'"
"""What a file is made of, without what SQLite makes for itself."""

_MAGIC = b"SQLite format 3\0"
_LAYOUTS = 4
_WAL_LIMIT_BYTES = 8 << 20

BUSY_SECONDS = 10.0
"""How long a statement waits for another process to let go of the file."""

Row = tuple[Any, ...]


# -- making ------------------------------------------------------------------------------------


def refuse_taken(path: Path) -> None:
    """Refuse to make a log where something is that it would replace or be mixed up with.

    Raises:
        BadInput: there is a file, or what SQLite left of one.
    """
    if path.exists():
        raise BadInput(f"{path} exists; choose another path, or open it to go on")
    wal = wal_of(path)
    if size(wal):
        # SQLite would replay it into the new file.
        raise BadInput(f"{wal} is left from a log that was at {path.name}; move it away first")


def make(path: Path, *, log_id: str, run: str) -> None:
    """Make an empty log at ``path``, which appears there whole or not at all.

    Raises:
        BadInput: the path is taken.
    """
    refuse_taken(path)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    try:
        initialise(draft, log_id=log_id, run=run)
        publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def facts(log_id: str, run: str) -> dict[str, str]:
    """The fixed facts of a log; all follow from the two that its ids and its chain are made of."""
    return {
        "log_id": log_id,
        "run": run,
        "format": str(FORMAT),
        "encoder": ENCODER,
        "hash": HASH,
        "genesis": genesis(log_id).hex(),
    }


def initialise(path: Path, *, log_id: str, run: str) -> None:
    """Write the schema and the fixed facts of a log into a new file, for `publish` to sync."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("pragma synchronous = off")
        _run_scripts(connection)
        connection.executemany("insert into log_meta values (?, ?)", facts(log_id, run).items())
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(f"pragma user_version = {FORMAT}")
        connection.execute("pragma journal_mode = wal")
    finally:
        connection.close()


def _run_scripts(connection: sqlite3.Connection) -> None:
    for name in ("schema.sql", "views.sql"):
        connection.executescript(resources.files(__package__).joinpath(name).read_text("utf-8"))


@cache
def schema() -> Mapping[tuple[str, str], str]:
    """The SQL of every table, index, trigger and view of a log, by type and name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _run_scripts(connection)
        rows = connection.execute(OBJECTS)
        return MappingProxyType({(type_, name): sql for type_, name, sql in rows})


def publish(draft: Path, path: Path) -> None:
    """Move a finished file to its place, for good."""
    sync(draft)
    draft.rename(path)
    sync(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Write a small text file so that after a crash the old or the new one is there."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text, encoding="utf-8")
    sync(draft)
    draft.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def beside(path: Path, ending: str) -> Path:
    """A file that goes with a log; with the log itself, where a link to it is given.

    SQLite does the same, and one log must not have two locks.
    """
    # Not the method of Path: it raises where the folder may not be looked into.
    real = path.resolve() if os.path.islink(path) else path
    return real.with_name(real.name + ending)


def head_of(path: Path) -> Path:
    """Where the last writer of a log leaves its head."""
    return beside(path, ".head")


def wal_of(path: Path) -> Path:
    """Where SQLite keeps what is not in the main file yet."""
    return beside(path, "-wal")


def size(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# -- telling -----------------------------------------------------------------------------------


def check_file(path: Path) -> None:
    """Refuse what is not a log this code can use, without touching it.

    Raises:
        BadInput: there is no such file, or it cannot be read.
        LogError: it is something else, or a log of a newer format.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise BadInput(f"{path}: not readable: {error.strerror}; give the path of a log") from None
    if not header:
        raise LogError(f"{path} is empty: not a log; remove it, or give the path of one")
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise LogError(f"{path} is not an SQLite file; give the path of a log")
    layout, version, application = (
        int.from_bytes(header[at : at + 4], "big") for at in (44, 60, 68)
    )
    if application != APPLICATION_ID:
        raise LogError(f"{path} is an SQLite file of another program; give the path of a log")
    if layout > _LAYOUTS:
        raise LogError(f"{path} is damaged: SQLite has no layout {layout}; restore a copy")
    if version != FORMAT:
        raise LogError(
            f"{path} has log format {version}, this code reads format {FORMAT}; "
            "install the discernmem that wrote it"
        )


# -- connecting --------------------------------------------------------------------------------


def connect_writing(path: Path) -> sqlite3.Connection:
    """The connection of the one writer: nothing acknowledged is lost when power fails.

    Raises:
        BadInput: the file may not be written.
    """
    if not os.access(path, os.W_OK, effective_ids=True):
        raise BadInput(f"{path} may not be written; allow it, or go on with a copy of the log")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
    )
    for pragma in (
        "journal_mode = wal",
        "synchronous = full",
        "fullfsync = on",
        "foreign_keys = on",
        f"journal_size_limit = {_WAL_LIMIT_BYTES}",
    ):
        connection.execute(f"pragma {pragma}")
    return connection


# -- failing ------------------------------------------------------------------------------------


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Tell errors of SQLite and the disk in our words."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.IntegrityError as error:
        raise Conflict(f"{path}: refused by the log's guards: {error}; nothing written") from None
    except UnicodeDecodeError as error:
        # The words of SQLite quote what it cannot read.
        raise _damaged(path, error) from None
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR:
            # A text that is none: SQLite gave it, Python could not take it. Or a table is gone.
            raise _damaged(path, error) from None
        raise Infrastructure(
            f"{path}: {error}; nothing of this step was written: make room or free the file, "
            "then resume"
        ) from None
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from None
    except OSError as error:
        raise Infrastructure(f"{path}: {error.strerror}; make room or free the file") from None


def _damaged(path: Path, error: Exception) -> LogError:
    return LogError(
        f"{path} is damaged: {error}; run verify, and restore a copy or what export --until saves"
    )
