"""Whether a log holds what it should: the file's own checks, and its stores against the fold."""

from __future__ import annotations

from pathlib import Path

from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog, Head
from ..eventlog.verify import Problem, Report, verify
from ..projections.state import STATE_VERSION, State, evolve, state_hash


def verify_run(path: Path, head: Path | None = None) -> Report:
    """Check everything a log promises.

    Args:
        path: the log.
        head: a head of this log seen earlier; the log must be a continuation of it.

    Raises:
        BadInput: a file cannot be read as what it should be.
    """
    with EventLog.open(path) as log:
        report = verify(log, head=_head(head) if head else None)
        if report.problems:
            return report
        return report.with_problems(_stores(log))


def _head(path: Path) -> Head:
    try:
        return Head.from_text(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path}: is not a head (three lines: origin, position, hash): {error}"
        ) from None


def _stores(log: EventLog) -> tuple[Problem, ...]:
    """Each `StoreCheckpointed` against the fold of everything before it."""
    problems = []
    state = State()
    for recorded in log.read():
        event = recorded.event
        if isinstance(event, ev.StoreCheckpointed):
            folded = state_hash(state)
            if event.state_version == STATE_VERSION and event.state_hash != folded:
                problems.append(
                    Problem(
                        position=recorded.position,
                        kind="store",
                        message=f"the store after task {event.index} is {folded[:12]}, "
                        f"recorded {event.state_hash[:12]}",
                    )
                )
        state = evolve(state, recorded)
    return tuple(problems)
