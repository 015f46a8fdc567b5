"""Under which header a run stood at each of its tasks: its own, and that of each fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog
from .config import parse_config

Differences = dict[str, tuple[Any, Any]]


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


def differing(a: ev.RunStarted, b: ev.RunStarted) -> Differences:
    """What can change a conclusion and differs between two headers, by dotted names."""
    return differing_config(a.config, b.config) | differing_world(a, b)


def differing_config(a: Mapping[str, Any], b: Mapping[str, Any]) -> Differences:
    """As `differing`, of two tables of configuration; what one leaves out has its default."""
    return _unequal(_flat("", _whole(a)), _flat("", _whole(b)))


def _whole(table: Mapping[str, Any]) -> dict[str, Any]:
    return parse_config(table, "recorded configuration").table()


def differing_world(a: ev.RunStarted, b: ev.RunStarted) -> Differences:
    """As `differing`, but only of what was found there: not of what was configured."""
    return _unequal(_world(a), _world(b))


def _unequal(a: Iterable[tuple[str, Any]], b: Iterable[tuple[str, Any]]) -> Differences:
    left, right = dict(a), dict(b)
    return {
        name: (left.get(name), right.get(name))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    }


def _world(header: ev.RunStarted) -> Iterator[tuple[str, Any]]:
    yield from _flat("host.", header.host)
    yield from _flat("benchmark.", header.benchmark)
    yield "model.fingerprint", header.model["fingerprint"]
    yield "embedder.fingerprint", header.embedder["fingerprint"]
    yield "stream.digest", header.stream_digest
    yield "decision.version", header.decision_version


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value
