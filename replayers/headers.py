"""Under which header a run stood at each of its tasks: its own, and that of each fork."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog


@attrs.frozen
class Segment:
    """A stretch of tasks decided under one header; ``first`` is the first of them."""

    first: int
    header: ev.RunStarted


def segments(log: EventLog) -> tuple[Segment, ...]:
    """The segments of a run in order; each reaches to the next.

    Raises:
        BadInput: the log holds no run.
    """
    first = log.at(1)
    if first is None or not isinstance(first.event, ev.RunStarted):
        raise BadInput(f"{log.path}: holds no run; start one with `discernmem run`")
    found = [Segment(1, first.event)]
    for (position,) in log.rows(
        "select position from events where type = 'RunForked' order by position"
    ):
        forked, before = log.at(position), log.at(position - 1)
        assert forked is not None
        assert isinstance(forked.event, ev.RunForked)
        done = before.task_index if before is not None else None
        found.append(Segment((done or 0) + 1, forked.event))
    return tuple(found)


def header_of(log: EventLog) -> ev.RunStarted:
    """The header that a run goes on under.

    Raises:
        BadInput: the log holds no run.
    """
    return segments(log)[-1].header


def differing(a: ev.RunStarted, b: ev.RunStarted) -> dict[str, tuple[Any, Any]]:
    """What can change a conclusion and differs between two headers, by dotted names."""
    left, right = dict(_deciding(a)), dict(_deciding(b))
    return {
        name: (left.get(name), right.get(name))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    }


def _deciding(header: ev.RunStarted) -> Iterator[tuple[str, Any]]:
    yield from _flat("", header.config)
    yield from _flat("host.", header.host)
    yield from _flat("benchmark.", header.benchmark)
    yield "model.fingerprint", header.model["fingerprint"][:12]
    yield "embedder.fingerprint", header.embedder["fingerprint"][:12]
    yield "stream", header.stream_digest[:12]
    yield "decision_version", header.decision_version


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value
