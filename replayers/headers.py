"""Under which header a run stood at each of its tasks: its own, and that of each fork."""

from __future__ import annotations

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
