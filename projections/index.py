"""Exact inner-product search over unit vectors (FAISS), rebuilt from recorded embeddings.

A cache, never a source of truth: it only narrows down what the rules then measure exactly.
"""

from __future__ import annotations

from collections.abc import Collection

import faiss
import numpy as np

# Threads only cost at these sizes, and a fixed count keeps the order of additions fixed.
faiss.omp_set_num_threads(1)

SPARE = 16
"""Keys searched for beyond those wanted: mostly enough to see where the nearest ones end."""

ROUNDING = 1e-5
"""More than float32 arithmetic and the rules' rounding can move a cosine."""


class VectorIndex:
    """Unit vectors by integer key; putting a key again replaces its vector."""

    def __init__(self) -> None:
        self._vectors: dict[int, bytes] = {}
        self._index: faiss.IndexIDMap2 | None = None

    def put(self, key: int, vector: bytes) -> None:
        """Keep ``vector`` (little-endian float32, unit length) under ``key``."""
        known = self._vectors.get(key)
        if known == vector:
            return
        row = np.frombuffer(vector, "<f4").reshape(1, -1)
        if self._index is None:
            self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(row.shape[1]))
        if known is not None:
            self._index.remove_ids(faiss.IDSelectorBatch(np.array([key], dtype=np.int64)))
        self._index.add_with_ids(row, np.array([key], dtype=np.int64))
        self._vectors[key] = vector

    def nearest(self, vector: bytes, k: int, among: Collection[int]) -> dict[int, bytes]:
        """At least the ``k`` nearest keys of ``among``, all as near as the last, with vectors.

        Which of equally near keys a search finds depends on the order in which they were put, so a
        search that ends among such keys is widened until it has them all.
        """
        if self._index is None or not among or k <= 0:
            return {}
        allowed = np.array(sorted(among), dtype=np.int64)
        selector = faiss.IDSelectorBatch(allowed)
        parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        query = np.frombuffer(vector, "<f4").reshape(1, -1)
        count = min(k + SPARE, len(allowed))
        (scores,), (keys,) = self._index.search(query, count, params=parameters)
        least = scores[min(k, count) - 1] - ROUNDING
        if count < len(allowed) and scores[-1] >= least:
            _, _, keys = self._index.range_search(query, least, params=parameters)
        return {int(key): self._vectors[int(key)] for key in keys if key >= 0}
