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

_BUSY_SECONDS = 10.0
_CACHE_BYTES = 32 << 20
_CHECKPOINT = """
create table checkpoint (
  code_version text    not null, -- version of the code that filled the tables
  position     integer not null, -- they tell the log up to this event
  log_hash     text    not null  -- which has this hash in the log
) strict
"""

Checkpoint = tuple[str, int, str]


def side_path(log: Path) -> Path:
    """Where the tables of a log are kept: ``run.db`` has ``run.store.db``."""
    return log.with_suffix(".store.db")


class Foreign(sqlite3.OperationalError):
    """The file is not ours to write."""


class Moved(sqlite3.OperationalError):
    """The file was deleted or replaced while it was open."""


class SideFile:
    """The tables of one log, in the file beside it or in memory.

    Not safe against code that writes the tables without `writing`. Errors of SQLite come out as
    they are; `give_up` then chooses where to go on.

    Args:
        log: the log the tables are computed from.
        schema: the statements that make them, empty.
        code_version: of the code that fills them.
        read_only: never touch the file; `writing` is then not to be used.

    Attributes:
        in_memory: whether the tables are made anew in memory.
        refilled: whether this object began to fill them from nothing.
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
        try:
            self._connect("ro" if read_only else "rwc")
        except (sqlite3.Error, OSError):
            if read_only:
                raise
            self._connect_memory()

    def _connect(self, mode: str) -> None:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        self._connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS
        )
        try:
            self._connection.execute(f"pragma cache_size = {-_CACHE_BYTES // 1024}")
            self._connection.execute("select * from sqlite_master limit 1").fetchall()
            self._inode = self.path.stat().st_ino
        except BaseException:
            self._connection.close()
            raise

    def _connect_memory(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._trusted = None
        self.in_memory = True

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
            self._end("commit")

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
            self._end("rollback")

    def mark(self, position: int) -> None:
        """Note, inside `writing`, that the tables now tell the log up to ``position``."""
        checkpoint = (self._code_version, position, self._log.head(position).hash)
        self._connection.execute("delete from checkpoint")
        self._connection.execute("insert into checkpoint values (?, ?, ?)", checkpoint)
        self._trusted = checkpoint

    def give_up(self, error: Exception) -> None:
        """Choose, after ``error`` came of the file, where to go on, with nothing in the tables.

        A damaged file of ours is deleted, once; after that and for any other reason it is memory.

        Raises:
            Exception: ``error``, when the tables are in memory already and nothing else is left.
        """
        if self.in_memory:
            raise error
        self.close()
        damaged = not isinstance(error, sqlite3.OperationalError)
        if damaged and not self._discarded and self._is_ours():
            self._discarded = True
            try:
                self.path.unlink(missing_ok=True)
                self._connect("rwc")
            except (sqlite3.Error, OSError):
                self._connect_memory()
        elif isinstance(error, Moved):
            self._reconnect()
        else:
            self._connect_memory()

    def _reconnect(self) -> None:
        try:
            self._connect("rwc")
        except (sqlite3.Error, OSError):
            self._connect_memory()

    def _end(self, how: str) -> None:
        if self._connection.in_transaction:
            self._connection.execute(how)

    def _is_ours(self) -> bool:
        with self.path.open("rb") as file:
            header = file.read(100)
        return header[68:72] == APPLICATION_ID.to_bytes(4, "big")

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
            try:
                head = self._log.head(checkpoint[1])
            except BadInput:
                return -1
            if head.hash != checkpoint[2]:
                return -1
            self._trusted = checkpoint
        return checkpoint[1]

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
