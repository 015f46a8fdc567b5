"""Ranking passages by the cosine of their embeddings (FAISS, exact search)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import faiss
import numpy as np

from ...decisions.retrieval import cosine
from ..models.base import Embedder

_LOADED_AT_ONCE = 10_000
# More than are wanted, so that the order of the wanted ones is decided by exact cosines.
_SPARE = 16


class Vectors:
    """All vectors of an index, in memory: four bytes a dimension and passage."""

    def __init__(self, connection: sqlite3.Connection, embedder: Embedder) -> None:
        self._connection = connection
        self._embedder = embedder
        self._index = faiss.IndexFlatIP(int(embedder.card.facts["dimensions"]))
        rows = connection.execute("select vector from vectors order by number")
        while batch := rows.fetchmany(_LOADED_AT_ONCE):
            block = np.frombuffer(b"".join(vector for (vector,) in batch), "<f4")
            self._index.add(block.reshape(len(batch), -1))

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self._index.ntotal)

    def nearest(self, query: str, k: int) -> Sequence[int]:
        """At most ``k`` numbers by falling cosine, equally near ones by rising number."""
        vector = self._embedder.embed(query)
        row = np.frombuffer(vector, "<f4").reshape(1, -1)
        _, (places,) = self._index.search(row, min(k + _SPARE, self._index.ntotal))
        near = {int(place) + 1: self._vector(int(place) + 1) for place in places}
        return sorted(near, key=lambda number: (-cosine(vector, near[number]), number))[:k]

    def _vector(self, number: int) -> bytes:
        sql = "select vector from vectors where number = ?"
        (vector,) = self._connection.execute(sql, (number,)).fetchone()
        return bytes(vector)
