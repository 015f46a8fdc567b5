"""A log that takes many events at once from code that appends them one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discernmem.eventlog import Draft, EventLog, Recorded, chain, digest


class StagedLog(EventLog):
    """A log that keeps appended events back until `flush`, and answers as if they were there.

    ``events`` counts all of them, ``known`` are the digests of all contents. A live run appends one
    event at a time, each on the disk before the next; a generator has nothing to lose.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.events = 0
        self.known: set[str] = set()
        self._versions: Counter[str] = Counter()
        self._drafts: list[Draft] = []
        self._staged: dict[tuple[str, int], Recorded] = {}
        self._contents: dict[str, bytes] = {}

    def append(
        self, drafts: Sequence[Draft], *, expected: int | None = None
    ) -> tuple[Recorded, ...]:
        """As `EventLog.append`, later; ``payload`` and ``hash`` of the receipts are empty."""
        assert expected in (None, self.events)
        return tuple(map(self._stage, drafts))

    def _stage(self, draft: Draft) -> Recorded:
        event = draft.event
        name, stream, version = type(event).__name__, event.stream, 1
        # Nothing is asked twice: a stream of a request has one event and need not be counted.
        if not stream.startswith("request:"):
            self._versions[stream] += 1
            version = self._versions[stream]
        self.events += 1
        recorded = Recorded(
            position=self.events,
            event_id=chain.event_id(self.run, stream, version, name),
            stream_id=stream,
            stream_version=version,
            type=name,
            schema_version=event.SCHEMA_VERSION,
            task_index=draft.task_index,
            recorded_at="",
            actor=draft.actor,
            causation_id=draft.cause,
            correlation_id=self.run,
            payload=b"",
            hash="",
            event=event,
        )
        for content in draft.blobs:
            sha256 = digest(content)
            self.known.add(sha256)
            self._contents[sha256] = content
        self._drafts.append(draft)
        self._staged[stream, version] = recorded
        return recorded

    def flush(self) -> None:
        """Bring everything to the disk, in one append."""
        written = super().append(self._drafts)
        ids = [recorded.event_id for recorded in self._staged.values()]
        assert ids == [recorded.event_id for recorded in written]
        self._drafts, self._staged, self._contents = [], {}, {}
        # What a writer remembers grows with the log; a generator's memory should not.
        assert self._writer is not None
        self._writer.forget()

    def find(self, stream_id: str, stream_version: int = 1) -> Recorded | None:
        staged = self._staged.get((stream_id, stream_version))
        return staged or super().find(stream_id, stream_version)

    def blob(self, sha256_hex: str) -> bytes:
        staged = self._contents.get(sha256_hex)
        return super().blob(sha256_hex) if staged is None else staged
