"""Whether a log holds what it should: the file's own checks, and its stores against the fold."""

from __future__ import annotations

from pathlib import Path

import attrs

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
        return attrs.evolve(report, problems=_stores(log))


def _head(path: Path) -> Head:
    try:
        # A file that is no text is as little a head as any other: it gets the same words.
        return Head.from_text(path.read_text("utf-8", errors="replace"))
    except OSError as error:
        raise BadInput(f"{path}: not readable: {error.strerror}; give the file of a head") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _stores(log: EventLog) -> tuple[Problem, ...]:
    """Each `StoreCheckpointed` against the fold of everything before it."""
    problems = []
    state = State()
    for recorded in log.read():
        event = recorded.event
        if isinstance(event, ev.StoreCheckpointed) and event.state_version == STATE_VERSION:
            folded = state_hash(state)
            if event.state_hash != folded:
                message = (
                    f"the store after task {event.index} is {folded[:12]}, "
                    f"recorded {event.state_hash[:12]}"
                )
                problems.append(Problem(recorded.position, "store", message))
        state = evolve(state, recorded)
    return tuple(problems)
