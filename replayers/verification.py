"""Whether a log holds what it should: the file's own checks, the fold, the rules of the method."""

from __future__ import annotations

from pathlib import Path

import attrs

from ..decisions.invariants import Invariants
from ..eventlog import events as ev
from ..eventlog.exported import head_from
from ..eventlog.files import head_of
from ..eventlog.log import EventLog
from ..eventlog.verify import Problem, Report, Told, verify_file
from ..projections.equality import SideFileCheck
from ..projections.state import STATE_VERSION, Serialiser, State, evolve

_STEP = 250
"""Events between two tellings."""


def verify_run(path: Path, against: Path | None = None, told: Told | None = None) -> Report:
    """Check everything a log promises.

    Args:
        path: the log.
        against: a head or an export of this log seen earlier, which it must continue; by default
            the head its last writer left beside it, if it is there.
        told: is told how far it is; the last that is checked are the ``rules``.

    Raises:
        BadInput: there is no such log, or ``against`` is neither.
    """
    beside = head_of(path)
    if against is None and beside.exists():
        against = beside
    report = verify_file(path, head=head_from(against) if against else None, told=told)
    if not report.ok:
        return report
    with EventLog.open(path) as log, SideFileCheck(log) as side:
        return attrs.evolve(report, problems=_conclusions(log, side, told))


def _conclusions(log: EventLog, side: SideFileCheck, told: Told | None) -> tuple[Problem, ...]:
    """Each event against the method's rules, the hashes and the side file against the fold."""
    problems = []
    state, serialiser = State(), Serialiser()
    invariants = Invariants(log.blob, log.by_id)
    last = log.head().position
    for recorded in log.read(until=last):
        position = recorded.position
        if told is not None and (position % _STEP == 0 or position == last):
            told("rules", position, last)
        for message in invariants.check(state, recorded):
            problems.append(Problem(position, "invariant", message))
        try:
            if isinstance(recorded.event, ev.StoreCheckpointed):
                problems += _store(recorded.event, serialiser.state_hash(state), position)
            state = evolve(state, recorded)
        except (KeyError, ValueError):
            message = "is about a memory or task that is not there; nothing after it was checked"
            problems.append(Problem(position, "store", message))
            break
        for message in side.problems(position, state, serialiser):
            problems.append(Problem(position, "projection", message))
    return tuple(problems)


def _store(event: ev.StoreCheckpointed, folded: str, position: int) -> list[Problem]:
    if event.state_version != STATE_VERSION or event.state_hash == folded:
        return []
    message = (
        f"the store after task {event.index} is {folded[:12]}, recorded {event.state_hash[:12]}"
    )
    return [Problem(position, "store", message)]
