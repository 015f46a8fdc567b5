"""Tables computed from a log, in a file beside it: a cache, deletable at any time.

The file says up to which event its tables tell the log, with the hash of that event and the
version of the code that filled them. Tables of other code, of another log or of a part of this one
that is no more are thrown away and filled anew. Where the file cannot be read or written, or is
somebody else's, the tables are made in memory: that costs time, nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .errors import BadInput
from .reading import Readable

APPLICATION_ID: Final = 0x44534D53
"""``DSMS`` in the header of every side file, so that no other file is taken for one."""

BUSY_SECONDS = 10.0
"""How long to wait for another process before going on in memory."""

_CACHE_KIB = 32 << 10
_CHECKPOINT = """
create table checkpoint (
  code_version text    not null, -- version of the code that filled the tables
  position     integer not null, -- they tell the log up to this event
  log_hash     text    not null  -- which has this hash in the log
) strict
"""
_CIRCUMSTANCES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""What SQLite reports of the world around a file, not of the file."""

Checkpoint = tuple[str, int, str]


def side_path(log: Path) -> Path:
    """Where the tables of a log are kept: ``run.db`` has ``run.store.db``."""
    return log.with_suffix(".store.db")


def is_side_file(path: Path) -> bool:
    """Whether a file is one of ours by its header, whatever state the rest of it is in."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header[68:72] == APPLICATION_ID.to_bytes(4, "big")


class Foreign(Exception):
    """The file is of another program."""


class Moved(Exception):
    """The file was deleted or replaced while it was open."""


class SideFile:
    """The tables of one log, in the file beside it or in memory.

    Errors of SQLite come out as they are; `give_up` then chooses where to go on.

    Args:
        log: the log the tables are computed from.
        schema: the statements that make them, empty.
        code_version: of the code that fills them.
        read_only: never touch the file; `writing` is then not to be used.

    Attributes:
        path: the file.
        in_memory: whether the tables are in memory instead.
        refilled: whether they were begun from nothing here.
    """

    def __init__(
        self, log: Readable, *, schema: Sequence[str], code_version: str, read_only: bool = False
    ) -> None:
        self._log = log
        self._schema = schema
        self._code_version = code_version
        self._trusted: Checkpoint | None = None
        self._discarded = False
        self.path = side_path(log.path)
        self.in_memory = False
        self.refilled = False
        if read_only:
            self._connection = self._connect("ro")
        else:
            self._open()

    def _open(self) -> None:
        try:
            self._connection = self._connect("rwc")
        except (sqlite3.Error, OSError) as error:
            if is_damage(error) and self._discard():
                self._open()
            else:
                self._open_memory()

    def _open_memory(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._trusted = None
        self.in_memory = True

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
            self._inode = self.path.stat().st_ino
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """One unchanging view of the tables, and the position they tell the log up to.

        The position is -1 where there are no tables of this log.
        """
        self._connection.execute("begin")
        try:
            yield self._connection, self._position()
        finally:
            self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """As `reading`, to fill the tables further: they are there, and nobody else fills them.

        What was done is kept only if nothing is raised. `mark` says how far it went.
        """
        self._connection.execute("begin immediate")
        try:
            if not self.in_memory and self.path.stat().st_ino != self._inode:
                raise Moved(f"{self.path} was replaced")
            if self._position() < 0:
                self._start_anew()
            yield self._connection, self._position()
            self._connection.execute("commit")
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    def mark(self, position: int) -> None:
        """Note, inside `writing`, that the tables now tell the log up to ``position``."""
        checkpoint = (self._code_version, position, self._log.head(position).hash)
        self._connection.execute("delete from checkpoint")
        self._connection.execute("insert into checkpoint values (?, ?, ?)", checkpoint)

    def give_up(self, error: Exception) -> None:
        """After ``error`` came of the tables, open others: to be filled, or filled by others.

        A damaged file of ours is deleted, once; after that and for any other reason it is memory.

        Raises:
            Exception: ``error``, when the tables are in memory already and nothing else is left.
        """
        if self.in_memory:
            raise error
        self.close()
        moved = isinstance(error, Moved | FileNotFoundError)
        if moved or (is_damage(error) and self._discard()):
            self._open()
        else:
            self._open_memory()

    def _discard(self) -> bool:
        if self._discarded or not is_side_file(self.path):
            return False
        self._discarded = True
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _position(self) -> int:
        """How far the tables tell this log, -1 for not at all."""
        (application,) = self._connection.execute("pragma application_id").fetchone()
        if application != APPLICATION_ID:
            if application or self._tables():
                raise Foreign(f"{self.path} is of another program")
            return -1
        checkpoint: Checkpoint | None = self._connection.execute(
            "select code_version, position, log_hash from checkpoint"
        ).fetchone()
        if checkpoint is None or checkpoint[0] != self._code_version:
            return -1
        if checkpoint != self._trusted:
            if self._hash_at(checkpoint[1]) != checkpoint[2]:
                return -1
            self._trusted = checkpoint
        return checkpoint[1]

    def _hash_at(self, position: int) -> str | None:
        try:
            return self._log.head(position).hash
        except BadInput:
            return None

    def _tables(self) -> list[str]:
        rows = self._connection.execute("select name from sqlite_master where type = 'table'")
        return [name for (name,) in rows]

    def _start_anew(self) -> None:
        for name in self._tables():
            self._connection.execute(f'drop table "{name}"')
        for statement in (_CHECKPOINT, *self._schema):
            self._connection.execute(statement)
        self._connection.execute(f"pragma application_id = {APPLICATION_ID}")
        self.mark(0)
        self.refilled = True


def is_damage(error: Exception) -> bool:
    """Whether an error tells of what is in the file."""
    if isinstance(error, Foreign | OSError):
        return False
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _CIRCUMSTANCES
    return True
