"""Whether a log holds what it should: the file's own checks, the fold, the rules of the method."""

from __future__ import annotations

from pathlib import Path

import attrs

from ..decisions.invariants import Invariants
from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog, Head
from ..eventlog.verify import Problem, Report, verify_file
from ..projections.state import STATE_VERSION, State, evolve, state_hash


def verify_run(path: Path, head: Path | None = None) -> Report:
    """Check everything a log promises.

    Args:
        path: the log.
        head: a head of this log seen earlier, which the log must continue; by default the one its
            last writer left beside it, if it is there.

    Raises:
        BadInput: there is no such log, or the head is none.
    """
    if head is None:
        beside = path.with_name(path.name + ".head")
        head = beside if beside.exists() else None
    report = verify_file(path, head=_head(head) if head else None)
    if not report.ok:
        return report
    with EventLog.open(path) as log:
        return attrs.evolve(report, problems=_conclusions(log))


def _head(path: Path) -> Head:
    try:
        # A file that is no text is as little a head as any other: it gets the same words.
        return Head.from_text(path.read_text("utf-8", errors="replace"))
    except OSError as error:
        raise BadInput(f"{path}: not readable: {error.strerror}; give the file of a head") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _conclusions(log: EventLog) -> tuple[Problem, ...]:
    """Each event against the method's rules, each `StoreCheckpointed` against the fold before it."""
    problems = []
    state = State()
    invariants = Invariants(log.blob, log.by_id)
    for recorded in log.read():
        position = recorded.position
        for message in invariants.check(state, recorded):
            problems.append(Problem(position, "invariant", message))
        try:
            if isinstance(recorded.event, ev.StoreCheckpointed):
                problems += _store(recorded.event, state, position)
            state = evolve(state, recorded)
        except (KeyError, ValueError):
            message = "is about a memory or task that is not there; nothing after it was checked"
            problems.append(Problem(position, "store", message))
            break
    return tuple(problems)


def _store(event: ev.StoreCheckpointed, state: State, position: int) -> list[Problem]:
    if event.state_version != STATE_VERSION:
        return []
    folded = state_hash(state)
    if event.state_hash == folded:
        return []
    message = (
        f"the store after task {event.index} is {folded[:12]}, recorded {event.state_hash[:12]}"
    )
    return [Problem(position, "store", message)]
