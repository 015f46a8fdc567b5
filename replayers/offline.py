"""Offline replay: every conclusion of a log derived again, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from ..decisions.settings import DECISION_VERSION
from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog
from ..projections.state import State
from ..projections.timeline import last_completed
from .config import parse_config
from .cycle import run_task
from .executions import RecordedExecutions
from .gateway import Gateway
from .headers import Segment, segments
from .journal import EndOfLog, Journal
from .overriding import carry_out_overrides
from .progress import Listener, RunBegun, TaskReplayed
from .session import assemble, finish_run, setting_of


@attrs.frozen(kw_only=True)
class Replayed:
    """What an offline replay found: everything recorded was derived again.

    ``agreed`` conclusions over ``tasks`` completed tasks; ``finished`` is false for a log that
    ends inside its stream.
    """

    agreed: int
    tasks: int
    finished: bool


def replay_offline(path: Path, listener: Listener | None = None) -> Replayed:
    """Derive every conclusion of a log again from its observations, without any model.

    Args:
        path: the log.
        listener: is told what is done.

    Raises:
        Divergence: a conclusion differs; names the event, the field and both values.
        BadInput: the log was decided by other rules than these.
    """
    with EventLog.open(path) as log:
        stretches = segments(log)
        for stretch in stretches:
            _require_these_rules(path, stretch.header)
        journal = Journal(log, state=State(), offline=True, listener=listener)
        journal.tell(RunBegun(tasks=log.last_task(), done=0))
        try:
            for stretch, end in zip(stretches, _ends(stretches), strict=True):
                _replay(journal, stretch, end, path)
            finished = True
        except EndOfLog:
            finished = False
        return Replayed(agreed=journal.confirmed, tasks=last_completed(log), finished=finished)


def _require_these_rules(path: Path, header: ev.RunStarted) -> None:
    if header.decision_version != DECISION_VERSION:
        raise BadInput(
            f"{path}: was decided by version {header.decision_version} of the rules, this is "
            f"version {DECISION_VERSION}; replay it with the release that recorded it"
        )


def _ends(stretches: Sequence[Segment]) -> list[int | None]:
    """The last task of each segment, None for the one that ends the run."""
    return [*(following.first - 1 for following in stretches[1:]), None]


def _replay(journal: Journal, stretch: Segment, end: int | None, path: Path) -> None:
    header = stretch.header
    config = parse_config(header.config, f"{path} (recorded configuration)")
    journal.reuse = config.reuse
    gateway = Gateway(journal, header.model["fingerprint"], None)
    executions = RecordedExecutions(journal, setting_of(header, config))
    run = assemble(journal, header, config, executions, gateway, None)
    for index in range(stretch.first, (header.tasks if end is None else end) + 1):
        carry_out_overrides(run, index)
        run_task(run, header.run, index, None)
        journal.tell(TaskReplayed(index=index, agreed=journal.confirmed))
    if end is None:
        finish_run(run, header.run, header.tasks)
