"""Making an index of passages: a file that is there whole or not at all."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib import resources
from itertools import islice
from pathlib import Path

import attrs
import orjson

from ...eventlog.errors import BadInput, Infrastructure
from ...eventlog.files import publish
from ...eventlog.lock import WriterLock
from ..benchmarks.base import Passage
from ..models.base import Embedder

APPLICATION_ID = 0x44534D49
"""``DSMI`` in the header of every index."""

FORMAT = 1
"""Version of the tables and of the way they are searched, in the header as user_version."""

_BATCH = 1000
_CACHE_KIB = 64 << 10


@attrs.frozen(kw_only=True)
class About:
    """What an index was made of.

    ``content`` is a digest of all titles and texts in order. ``embedder`` is the fingerprint of
    the embedder and ``embedder_spec`` what it was opened by; both are empty for kind ``fts``.
    """

    kind: str
    passages: int
    content: str
    embedder: str = ""
    embedder_spec: str = ""


def build_index(
    passages: Iterable[Passage], out: Path, *, embedder: Embedder | None = None, spec: str = ""
) -> About:
    """Write an index of ``passages`` to the new file ``out``.

    It grows in a draft beside ``out``, which an interruption removes. Passages are never held
    together in memory.

    Args:
        passages: what to index.
        out: the file to make.
        embedder: gives kind ``vectors``; without one the kind is ``fts``.
        spec: what opens the embedder again.

    Raises:
        BadInput: ``out`` is taken, its folder is none, or ``passages`` raises it.
        Infrastructure: the disk is full or fails.
    """
    if out.exists():
        raise BadInput(f"{out} exists; use it, or choose another place for the index")
    lock = WriterLock(out)
    draft = out.with_name(out.name + ".new")
    try:
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("pragma journal_mode = off")
            connection.execute("pragma synchronous = off")
            about = fill(connection, passages, embedder=embedder, spec=spec)
        publish(draft, out)
        return about
    except sqlite3.Error as error:
        raise Infrastructure(f"{out}: {error}; make room and build the index again") from None
    finally:
        draft.unlink(missing_ok=True)
        lock.release()


def fill(
    connection: sqlite3.Connection,
    passages: Iterable[Passage],
    *,
    embedder: Embedder | None = None,
    spec: str = "",
) -> About:
    """Make an index in an empty database; see `build_index`."""
    connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
    connection.executescript(resources.files(__package__).joinpath("index.sql").read_text("utf-8"))
    content = hashlib.sha256()
    number = 0
    for batch in _batches(passages):
        rows = [(number + at, each.title, each.text) for at, each in enumerate(batch, start=1)]
        number += len(rows)
        connection.executemany("insert into passages values (?, ?, ?)", rows)
        if embedder is None:
            connection.executemany("insert into words (rowid, title, text) values (?, ?, ?)", rows)
        else:
            vectors = [(row[0], _vector(embedder, *row)) for row in rows]
            connection.executemany("insert into vectors values (?, ?)", vectors)
        for each in batch:
            content.update(orjson.dumps([each.title, each.text]) + b"\n")
    if embedder is None:
        connection.execute("insert into words (words) values ('optimize')")
    about = About(
        kind="fts" if embedder is None else "vectors",
        passages=number,
        content=content.hexdigest(),
        embedder="" if embedder is None else embedder.card.fingerprint,
        embedder_spec=spec,
    )
    values = [(name, str(value)) for name, value in attrs.asdict(about).items()]
    connection.executemany("insert into about values (?, ?)", values)
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(f"pragma user_version = {FORMAT}")
    connection.commit()
    return about


def read_about(connection: sqlite3.Connection, label: str) -> About:
    """What an index was made of.

    Raises:
        BadInput: the database is no index, a damaged one, or one of another format.
    """
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if application != APPLICATION_ID:
        raise BadInput(f"{label} is no index of passages; make one with `discernmem index`")
    if version != FORMAT:
        raise BadInput(
            f"{label} has index format {version}, this code reads format {FORMAT}; "
            "build it again with `discernmem index`"
        )
    values = dict(connection.execute("select name, value from about"))
    try:
        return About(**{**values, "passages": int(values["passages"])})
    except (KeyError, TypeError, ValueError):
        raise BadInput(f"{label} is damaged; build it again with `discernmem index`") from None


def _vector(embedder: Embedder, number: int, title: str, text: str) -> bytes:
    try:
        return embedder.embed(f"{title}\n{text}".strip())
    except BadInput as error:
        raise BadInput(f"passage {number} ({title}): {error}") from None


def _batches(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    source = iter(passages)
    while batch := list(islice(source, _BATCH)):
        yield batch
