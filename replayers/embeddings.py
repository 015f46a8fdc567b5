"""Embeddings through the journal: each text is embedded once in the life of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..decisions.retrieval import cosine
from ..eventlog import events as ev
from ..eventlog.codec import digest, digest_json
from ..projections.index import VectorIndex
from .journal import Journal, Observation
from .models.base import Embedder
from .plugins import blaming
from .progress import Asking


class Embeddings:
    """Recorded vectors by text; offline it needs only the embedder's fingerprint."""

    def __init__(self, journal: Journal, fingerprint: str, embedder: Embedder | None) -> None:
        self._journal = journal
        self._fingerprint = fingerprint
        self._embedder = embedder
        self._vectors: dict[str, bytes] = {}

    def vector(self, text: str, *, cause: str) -> bytes:
        """The unit vector of ``text`` as little-endian float32."""
        if text not in self._vectors:
            self._vectors[text] = self._recorded(text, cause)
        return self._vectors[text]

    def _recorded(self, text: str, cause: str) -> bytes:
        content = text.encode()
        request = digest_json(
            {"kind": "embedding", "embedder": self._fingerprint, "text": digest(content)}
        )

        def ask() -> Observation:
            assert self._embedder is not None
            self._journal.tell(Asking("embedding"))
            with blaming("embedder", "correct it, then resume the log"):
                vector = self._embedder.embed(text)
            event = ev.TextEmbedded(
                request=request,
                text=ev.BlobRef(digest(content)),
                dimensions=len(vector) // 4,
                vector=ev.BlobRef(digest(vector)),
            )
            return Observation(event, (content, vector))

        recorded = self._journal.observe(request, ask, cause=cause, what="an embedding")
        assert isinstance(recorded.event, ev.TextEmbedded)
        return self._journal.log.blob(recorded.event.vector)


class Neighbours:
    """Cosine neighbours among keyed texts: narrowed by the index, measured exactly."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._index = VectorIndex()
        self._held: dict[int, str] = {}

    def similarities(
        self,
        query: str,
        k: int,
        among: Mapping[int, str],
        text_of: Callable[[str], str],
        *,
        cause: str,
    ) -> dict[int, float]:
        """Cosines of ``query`` with at least the ``k`` nearest of ``among`` (all, if fewer).

        Args:
            query: the text to be near to.
            k: how many neighbours are wanted.
            among: key to a name of its text; a key whose name changed is embedded anew.
            text_of: the text a name stands for, asked only when it is to be embedded.
            cause: id of the event that led to asking.
        """
        for key, name in among.items():
            if self._held.get(key) != name:
                self._index.put(key, self._embeddings.vector(text_of(name), cause=cause))
                self._held[key] = name
        vector = self._embeddings.vector(query, cause=cause)
        near = self._index.nearest(vector, k, among.keys())
        return {key: cosine(vector, other) for key, other in near.items()}
