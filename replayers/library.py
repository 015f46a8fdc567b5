"""The library: every search of a team passes here and is on disk before anyone reads it."""

from __future__ import annotations

from typing import Any

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.codec import canonical, digest, digest_json
from ..eventlog.log import EventLog, Recorded
from .benchmarks.base import Benchmark, Passage
from .gateway import Answered
from .journal import Journal, Observation
from .progress import Asking
from .search.protocol import information


class Library:
    """Asks a benchmark's searcher through the journal."""

    def __init__(self, journal: Journal, benchmark: Benchmark) -> None:
        self._journal = journal
        self._searcher = benchmark.searcher
        self._k = benchmark.passages
        self._facts: dict[str, Any] = dict(self._searcher.facts) if self._searcher else {}

    def search(self, query: str, *, cause: str) -> Answered:
        """The passages for ``query`` as a role reads them, from the log when recorded there.

        Raises:
            Infrastructure: the searcher cannot answer at all.
        """
        request = digest_json(
            {"kind": "search", "searcher": self._facts, "query": query, "k": self._k}
        )

        def ask() -> Observation:
            assert self._searcher is not None
            self._journal.tell(Asking("search"))
            found = self._searcher.search(query, self._k)
            passages = canonical([attrs.asdict(passage) for passage in found])
            event = ev.PassagesFound(
                request=request, query=query, k=self._k, passages=ev.BlobRef(digest(passages))
            )
            return Observation(event, (passages,))

        recorded = self._journal.observe(request, ask, cause=cause, what="a search")
        return Answered(self.text_of(self._journal.log, recorded), recorded.event_id)

    @staticmethod
    def text_of(log: EventLog, recorded: Recorded) -> str:
        """The block of a recorded search, as a role reads it."""
        event = recorded.event
        assert isinstance(event, ev.PassagesFound)
        return information(
            [Passage(**passage) for passage in orjson.loads(log.blob(event.passages))]
        )
