"""Searching an index of passages on this machine: by words (BM25) or by vectors."""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...eventlog.errors import BadInput, DiscernmemError, Infrastructure
from ..benchmarks.base import Passage, Searcher
from ..models import open_embedder
from .building import About, fill, read_about

TITLE_WEIGHT = 2.0
"""How much a word in the title counts against one in the text."""

MOST_TERMS = 64
"""Words of a query that are looked for; what comes after them is a model that cannot stop."""

# Words that say nothing of what a passage is about. "who" is not among them: it is a band.
_FUNCTION_WORDS = """
a an and are as at be been by can did do does for from had has have how in into is it its of on or
than that the their these this those to was were what when where which whose why will with
"""
_TELLS_NOTHING = frozenset(_FUNCTION_WORDS.split())


class Ranking(Protocol):
    """Finds the numbers of passages near to a query."""

    def nearest(self, query: str, k: int) -> Sequence[int]:
        """At most ``k`` numbers, best first; equally near ones by rising number."""
        ...


class LocalSearcher(Searcher):
    """An index of passages. Answers depend on its content, its kind and its embedder alone."""

    def __init__(self, connection: sqlite3.Connection, label: str) -> None:
        """Use the index in an open database; `open_index` and `index_of` make one.

        Raises:
            BadInput: it is no index, a damaged one, or its embedder is another one now.
        """
        self._connection = connection
        # A benchmark keeps its searcher for as long as it is there itself.
        weakref.finalize(self, connection.close)
        self._label = label
        self._lock = threading.Lock()
        self.about = read_about(connection, label)
        self._ranking = _ranking(connection, self.about, label)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Kind, content digest and embedder; not where the file lies."""
        about = self.about
        facts = {
            "searcher": "index",
            "kind": about.kind,
            "passages": about.passages,
            "content": about.content,
        }
        return {**facts, "embedder": about.embedder} if about.embedder else facts

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """See `Searcher`.

        Raises:
            Infrastructure: the file or the embedder fails.
        """
        with self._lock:
            try:
                numbers = self._ranking.nearest(query, k)
                return tuple(self._passage(number) for number in numbers)
            except sqlite3.Error as error:
                raise self._trouble(str(error)) from None

    def _passage(self, number: int) -> Passage:
        sql = "select title, text from passages where number = ?"
        row = self._connection.execute(sql, (number,)).fetchone()
        if row is None:
            raise self._trouble(f"passage {number} is missing")
        title, text = row
        return Passage(title=title, text=text)

    def _trouble(self, what: str) -> Infrastructure:
        return Infrastructure(f"{self._label}: {what}; free or restore the index, then resume")


def open_index(path: Path) -> LocalSearcher:
    """The index in a file that `discernmem index` made; it is never written to.

    Raises:
        BadInput: there is no usable index at ``path``.
        Infrastructure: its embedder cannot be opened.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such index; make one with `discernmem index`")
    # One connection for all threads: the searcher's lock keeps them apart.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
    )
    try:
        return LocalSearcher(connection, str(path))
    except sqlite3.Error as error:
        connection.close()
        raise BadInput(f"{path}: {error}; make it again with `discernmem index`") from None
    except DiscernmemError:
        connection.close()
        raise


def index_of(passages: Iterable[Passage], label: str) -> LocalSearcher:
    """An index by words of a few passages, in memory.

    Args:
        passages: what to index.
        label: where they are from, for messages.
    """
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    fill(connection, passages)
    return LocalSearcher(connection, label)


def terms(query: str) -> tuple[str, ...]:
    """The words a query is looked up by: each once, function words only if there are no others."""
    text = unicodedata.normalize("NFKC", query)
    spaced = "".join(mark if _belongs(mark) else " " for mark in text)
    found = tuple(dict.fromkeys(spaced.casefold().split()))
    telling = tuple(word for word in found if word not in _TELLS_NOTHING)
    return (telling or found)[:MOST_TERMS]


def _belongs(character: str) -> bool:
    """Whether a character can be part of a word: letters, digits and what modifies them."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _ranking(connection: sqlite3.Connection, about: About, label: str) -> Ranking:
    if about.kind == "fts":
        return _Words(connection)
    from .vectors import Vectors

    embedder = open_embedder(about.embedder_spec)
    if embedder.card.fingerprint != about.embedder:
        raise BadInput(
            f"{label} was built with another embedder ({about.embedder[:12]}) than "
            f"{about.embedder_spec} is now ({embedder.card.fingerprint[:12]}); build it again"
        )
    vectors = Vectors(connection, embedder)
    if vectors.size != about.passages:
        raise BadInput(
            f"{label} is damaged: {vectors.size} of {about.passages} vectors; build it again"
        )
    return vectors


class _Words:
    """Okapi BM25 by SQLite's FTS5 over all passages that hold any of the words."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def nearest(self, query: str, k: int) -> Sequence[int]:
        """See `Ranking`."""
        # In quotes a word is a word and no operator of the query language; none has quotes itself.
        wanted = " OR ".join(f'"{word}"' for word in terms(query))
        if not wanted:
            return ()
        rows = self._connection.execute(
            f"select rowid from words where words match ? "
            f"order by bm25(words, {TITLE_WEIGHT}, 1.0), rowid limit ?",
            (wanted, k),
        )
        return [number for (number,) in rows]
