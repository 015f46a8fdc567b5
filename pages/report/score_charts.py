"""The charts of scores and costs: of one run, of several against the first, and of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from ...projections.scores import Interval
from .. import charts, drawing, row_charts
from ..charts import Series
from ..rendering import count
from ..row_charts import Spread
from .chart import Chart
from .figures import Figures
from .numbers import interval, mean, signed_interval
from .several import SWEPT, Comparison

_SURE: Final = "95\N{NARROW NO-BREAK SPACE}% interval"

# -- scores ------------------------------------------------------------------------------------


def of_scores(run: Figures) -> Iterator[Chart]:
    """The running means of a run."""
    if not run.running:
        yield Chart(title="Score over the stream", says="No task is scored yet.")
        return
    compared = run.scores.known > 0
    series = [_running("with memory", run, [each.mean for each in run.running])]
    without = [each.without for each in run.running if each.without]
    gains = [each.gain for each in run.running if each.gain]
    if compared:
        series.append(_running("no memory", run, without))
    across = drawing.tasks(run.header.tasks)
    over = "the tasks where both are known" if compared else "all scored tasks"
    says = f"Mean over the first tasks, of {over}; shaded the {_SURE}."
    yield Chart(
        title="Running mean of the score",
        says=says,
        picture=charts.lines(
            "Running mean of the score",
            f"{says} At the end {_ends(run)}.",
            series,
            across,
            drawing.scores("score", [v for each in series for v in (*each.low, *each.high)]),
        ),
    )
    if gains:
        gain = _running("", run, gains)
        yield Chart(
            title="What memory gained",
            says="Running mean of the difference, with memory less no memory, over the same tasks.",
            picture=charts.lines(
                "What memory gained",
                f"At the end {signed_interval(gains[-1])}.",
                [gain],
                across,
                drawing.scores("gain", [0.0, *gain.low, *gain.high]),
            ),
        )


def _running(name: str, run: Figures, found: Sequence[Interval]) -> Series:
    return Series(
        name=name,
        points=tuple((m.index, each.mean) for m, each in zip(run.running, found, strict=True)),
        low=tuple(each.low for each in found),
        high=tuple(each.high for each in found),
    )


def _ends(run: Figures) -> str:
    last = run.running[-1]
    without = f", without memory {interval(last.without)}" if last.without else ""
    return f"{interval(last.mean)}{without}"


def of_costs(run: Figures) -> Iterator[Chart]:
    """Executions over the stream."""
    if not run.done:
        return
    done = [task for task in run.ledger.tasks if task.index <= run.done]
    step = max(len(done) // 100, 1)
    series = []
    for name, each in (
        ("asked for", [task.asked for task in done]),
        ("made", [task.run for task in done]),
    ):
        totals = [0, *accumulate(each)]
        kept = [*range(0, len(done), step), len(done)]
        points = tuple((done[at - 1].index if at else 0, float(totals[at])) for at in kept)
        series.append(Series(name=name, points=points))
    high = max(value for each in series for _, value in each.points)
    says = "Executions that the plain algorithm asks for, and those that were made, all together."
    yield Chart(
        title="Executions",
        says=says,
        picture=charts.lines(
            "Executions over the stream",
            f"{says} At the end {count(run.ledger.asked)} and {count(run.ledger.run)}.",
            series,
            drawing.tasks(run.header.tasks),
            drawing.counts("executions", high),
        ),
    )


# -- several runs ------------------------------------------------------------------------------


def of_score_runs(found: Comparison) -> Iterator[Chart]:
    """The running means of several runs, and their differences to the first."""
    runs = [run for run in found.runs if run.running]
    if not runs:
        yield Chart(title="Score over the stream", says="No task is scored yet in any of the runs.")
        return
    series = [
        Series(name=run.name, points=tuple((m.index, m.mean.mean) for m in run.running))
        for run in runs
    ]
    yield Chart(
        title="Running mean of the score",
        says="Mean of the original score over the first tasks.",
        picture=charts.lines(
            "Running mean of the score",
            "; ".join(f"{run.name} at the end {mean(run.running[-1].mean.mean)}" for run in runs),
            series,
            drawing.tasks(max(run.header.tasks for run in runs)),
            drawing.scores("score", [value for each in series for _, value in each.points]),
        ),
    )
    rows = [
        Spread(
            name=run.name,
            low=each.gain.low,
            value=each.gain.mean,
            high=each.gain.high,
            says=signed_interval(each.gain),
        )
        for run, each in zip(found.runs[1:], found.paired, strict=True)
        if each and each.gain
    ]
    if rows:
        axis = drawing.scores("", [0.0, *(v for row in rows for v in (row.low, row.high))])
        yield Chart(
            title=f"Difference to {found.runs[0].name}",
            says=f"Mean paired difference over the tasks that both have scored, {_SURE}.",
            picture=row_charts.whiskers(
                "Paired differences", "; ".join(f"{r.name} {r.says}" for r in rows), rows, axis
            ),
        )


def of_sweep(found: Comparison) -> Chart | None:
    """The score by the one setting that was swept (Fig. 4, 9), None where that is not so."""
    key = found.varied
    if key not in SWEPT:
        return None
    points = []
    for run, value in sorted(zip(found.runs, found.settings[key], strict=True), key=lambda p: p[1]):
        scored = run.scores.mean
        if scored is not None:
            points.append(
                Spread(
                    name=f"{value}",
                    low=scored.low,
                    value=scored.mean,
                    high=scored.high,
                    says=mean(scored.mean),
                )
            )
    if not points:
        return None
    figure = "Fig. 9" if key == "method.k_inj" else "Fig. 4"
    highest = max(point.value for point in points)
    best = [point.name for point in points if point.value == highest]
    where = f"highest at {' and '.join(best)}" if len(best) < len(points) else "the same everywhere"
    return Chart(
        title=f"Score by {SWEPT[key]}",
        figure=figure,
        says=f"Mean original score with its {_SURE}; {where}.",
        picture=charts.sweep(
            f"Score by {SWEPT[key]}",
            "; ".join(f"{point.name}: {point.says}" for point in points),
            points,
            f"{SWEPT[key]} ({key.removeprefix('method.')})",
            drawing.scores("score", [v for p in points for v in (p.low, p.high)]),
        ),
    )
