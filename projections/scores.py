"""The scores of a run: task by task, with memory and without, and how sure their means are.

What a team scores on a task with nothing supplied is known of every task that was replayed
without memory, and of every task where nothing was supplied to begin with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

from ..eventlog.log import EventLog

RESAMPLES: Final = 10_000
SEED: Final = 42
_PERCENTILES: Final = (2.5, 97.5)
_DECIMALS: Final = 6
_CHUNK: Final = 4_000_000
"""Numbers drawn at once; it bounds the memory that a bootstrap takes."""


@attrs.frozen(kw_only=True)
class ScoreRow:
    """A scored task: its original score, its score with no memory if known, memories supplied."""

    index: int
    task: str
    score: float
    without: float | None
    supplied: int


@attrs.frozen(kw_only=True)
class Interval:
    """A mean and its 95 % interval by percentile bootstrap."""

    mean: float
    low: float
    high: float


@attrs.frozen(kw_only=True)
class RunningMean:
    """Means over the first tasks of a stream, the last of them ``index``.

    ``without`` and ``gain`` are as in `Scores`, None where no score with no memory is known.
    """

    index: int
    mean: Interval
    without: Interval | None
    gain: Interval | None


@attrs.frozen(kw_only=True)
class Scores:
    """The scores of a run in short.

    Attributes:
        tasks: scored tasks.
        known: those of them whose score with no memory is known.
        helped: those of the known that scored more than with no memory, ``hurt`` less.
        hurt: see ``helped``.
        mean: of the original scores of all of them, None without one.
        original: of the original scores of the known, None without one; so the next two.
        without: of the scores with no memory.
        gain: of the differences, original less no memory.
    """

    tasks: int
    known: int
    helped: int
    hurt: int
    mean: Interval | None
    original: Interval | None
    without: Interval | None
    gain: Interval | None

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return attrs.asdict(self)


@attrs.frozen(kw_only=True)
class Paired:
    """A run against another one over the tasks that both have scored.

    Attributes:
        tasks: those tasks.
        better: those of them on which it scored more, ``worse`` less.
        worse: see ``better``.
        gain: the mean difference, None without a common task.
    """

    tasks: int
    better: int
    worse: int
    gain: Interval | None

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return attrs.asdict(self)


def score_rows(log: EventLog) -> tuple[ScoreRow, ...]:
    """The scored tasks of a log, in order."""
    without: dict[str, float] = {}
    for task, score in log.rows(
        "select payload ->> 'task', payload ->> 'score' from events"
        " where type = 'ExecutionFinished' and json_array_length(payload, '$.supplied') = 0"
        " order by position"
    ):
        without.setdefault(task, score)
    return tuple(
        ScoreRow(index=index, task=task, score=score, without=without.get(task), supplied=supplied)
        for index, task, score, supplied in log.rows(
            "select payload ->> 'index', payload ->> 'task', payload ->> 'score',"
            " json_array_length(payload, '$.supplied')"
            " from events where type = 'TaskScored' order by position"
        )
    )


def scores_of(rows: Sequence[ScoreRow]) -> Scores:
    """The scores of a run in short."""
    known = _known(rows)
    gains = [score - without for score, without in known]
    return Scores(
        tasks=len(rows),
        known=len(known),
        helped=sum(gain > 0 for gain in gains),
        hurt=sum(gain < 0 for gain in gains),
        mean=bootstrap([row.score for row in rows]),
        original=bootstrap([score for score, _ in known]),
        without=bootstrap([without for _, without in known]),
        gain=bootstrap(gains),
    )


def _known(rows: Sequence[ScoreRow]) -> list[tuple[float, float]]:
    """The original score and that with no memory, of the tasks where both are known."""
    return [(row.score, row.without) for row in rows if row.without is not None]


def paired(rows: Sequence[ScoreRow], others: Sequence[ScoreRow]) -> Paired:
    """A run against another one, by the original scores of both."""
    known = {row.task: row.score for row in others}
    gains = [row.score - known[row.task] for row in rows if row.task in known]
    return Paired(
        tasks=len(gains),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
        gain=bootstrap(gains),
    )


def running(rows: Sequence[ScoreRow], points: int = 40) -> tuple[RunningMean, ...]:
    """Means over the first tasks, told at so many places along the stream at most.

    They are over the tasks whose score with no memory is known, or over all where it never is.
    """
    chosen = [row for row in rows if row.without is not None] or list(rows)
    places = sorted({len(chosen) * part // points for part in range(1, points + 1)} - {0})
    found = []
    for place in places:
        first = chosen[:place]
        mean = bootstrap([row.score for row in first])
        known = _known(first)
        assert mean is not None
        found.append(
            RunningMean(
                index=first[-1].index,
                mean=mean,
                without=bootstrap([without for _, without in known]),
                gain=bootstrap([score - without for score, without in known]),
            )
        )
    return tuple(found)


def bootstrap(values: Sequence[float]) -> Interval | None:
    """The mean of some values with its 95 % interval, None without a value.

    Equal values are drawn together: how often each comes up in a resample is multinomial, which is
    the same as drawing them one by one. The draws depend on the values alone, not on their order.
    """
    if not values:
        return None
    kinds, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    size = len(values)
    # The one generator of numpy whose draws are promised never to change.
    random = np.random.RandomState(SEED)
    per_chunk = max(1, _CHUNK // len(kinds))
    sums = np.concatenate(
        [
            random.multinomial(size, counts / size, min(per_chunk, RESAMPLES - start)) @ kinds
            for start in range(0, RESAMPLES, per_chunk)
        ]
    )
    low, high = np.percentile(sums / size, _PERCENTILES)
    return Interval(mean=_rounded(counts @ kinds / size), low=_rounded(low), high=_rounded(high))


def _rounded(value: float) -> float:
    return round(float(value), _DECIMALS) + 0.0
