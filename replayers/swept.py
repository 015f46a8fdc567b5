"""What came of the runs of a sweep: scores, memories, and what the world had to be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ..eventlog.log import EventLog
from ..projections.analyses import Analyses, analyse_log
from ..projections.timeline import last_completed
from .session import holds_run
from .sweeping import Planned

OBSERVATIONS: Final = ("ModelReplied", "PassagesFound", "TextEmbedded")
"""What one run of a sweep can take over from another."""


@attrs.frozen(kw_only=True)
class Row:
    """What came of a run.

    ``asked`` and ``served`` count its observations by type: those that the world had to be asked,
    and those that the log of an earlier run held.
    """

    name: str
    varied: Mapping[str, Any]
    log: str
    tasks: int
    mean_score: float | None
    asked: Mapping[str, int]
    served: Mapping[str, int]
    analyses: Analyses

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return attrs.asdict(self) | {"analyses": self.analyses.plain()}


def rows(folder: Path, planned: Iterable[Planned]) -> list[Row]:
    """What came of the runs of a folder that were begun, in the order of the plan.

    Which observations were served follows from the logs alone: those that an earlier one holds.
    """
    found = []
    held: set[tuple[str, int]] = set()
    for each in planned:
        path = each.log(folder)
        if not holds_run(path):
            break
        with EventLog.open(path) as log:
            asked, served = _counts(log, held)
            scores = [
                recorded.event.score  # type: ignore[attr-defined]
                for recorded in log.read(types=("TaskScored",))
            ]
            found.append(
                Row(
                    name=each.name,
                    varied=each.varied,
                    log=path.name,
                    tasks=last_completed(log),
                    mean_score=sum(scores) / len(scores) if scores else None,
                    asked=asked,
                    served=served,
                    analyses=analyse_log(log),
                )
            )
    return found


def _counts(log: EventLog, held: set[tuple[str, int]]) -> tuple[Counter[str], Counter[str]]:
    """Observations asked and served by type; ``held`` is what earlier logs hold, and this one."""
    asked: Counter[str] = Counter(dict.fromkeys(OBSERVATIONS, 0))
    served = Counter(asked)
    marks = ", ".join("?" for _ in OBSERVATIONS)
    for kind, stream, version in log.rows(
        f"select type, stream_id, stream_version from events where type in ({marks})", OBSERVATIONS
    ):
        place = (stream, version)
        (served if place in held else asked)[kind] += 1
        held.add(place)
    return asked, served
