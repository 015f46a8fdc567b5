"""The charts of a report: of one run, or of several side by side.

Rows and lines are named where there are several runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import attrs
from markupsafe import Markup

from ...projections.analyses import AGES, STATES, Analyses
from ...projections.scores import Interval
from .. import charts, drawing
from ..charts import Pair, Parts, Series, Spread
from ..rendering import count, share
from .figures import Figures
from .numbers import interval, mean, signed_interval
from .several import SWEPT, Comparison

_NO_MEMORY: Final = "No memory was ever stored."
_NO_INJECTION: Final = "No memory was ever injected."


@attrs.frozen(kw_only=True)
class Chart:
    """A chart with its title, the figure of the paper it is, if any, and what it says.

    Without a picture ``says`` is why there is none.
    """

    title: str
    figure: str = ""
    picture: Markup | None = None
    says: str


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
    says = f"Mean over the first tasks, of {over}; shaded the 95 % interval."
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


# -- the paper's figures of a run -----------------------------------------------------------------


def of_memories(run: Figures) -> Iterator[Chart]:
    """The figures of the paper for one run."""
    yield _states([run])
    yield _revised([run])
    yield _growth(run)
    yield _used(run)
    yield _concentration([run])
    yield _ages(run)
    yield _depths([run])


def of_runs(runs: Sequence[Figures]) -> Iterator[Chart]:
    """The figures of the paper for several runs."""
    yield _states(runs)
    yield _revised(runs)
    yield _sizes(runs)
    yield _concentration(runs)
    yield _spread(runs)
    yield _depths(runs)


def _name(run: Figures, runs: Sequence[Figures]) -> str:
    return run.name if len(runs) > 1 else ""


def _with_memories(runs: Sequence[Figures]) -> list[Figures]:
    return [run for run in runs if run.analyses.memories]


def _with_injections(runs: Sequence[Figures]) -> list[Figures]:
    return [run for run in runs if run.analyses.injections]


def _states(runs: Sequence[Figures]) -> Chart:
    title, figure = "Lifecycle states at the end", "Fig. 5"
    rows = [
        Parts(
            name=_name(run, runs),
            parts=tuple((state, run.analyses.states[state] or 0.0) for state in STATES),
        )
        for run in _with_memories(runs)
    ]
    if not rows:
        return Chart(title=title, figure=figure, says=_NO_MEMORY)
    says = "Share of the store. Provisional and active memories can be retrieved, inactive cannot."
    desc = "; ".join(
        f"{row.name} {', '.join(f'{kind} {share(value)}' for kind, value in row.parts)}".strip()
        for row in rows
    )
    return Chart(title=title, figure=figure, says=says, picture=charts.stacks(title, desc, rows))


def _revised(runs: Sequence[Figures]) -> Chart:
    title, figure = "Revised memories, in the store and in injections", "Fig. 2"
    rows = []
    for run in _with_injections(runs):
        stored, injected = run.analyses.revised or 0.0, run.analyses.revised_in_injections or 0.0
        ratio = f", \N{MULTIPLICATION SIGN}{injected / stored:.1f}" if stored else ""
        rows.append(
            Pair(
                name=_name(run, runs),
                hollow=stored,
                filled=injected,
                says=f"{share(stored)} → {share(injected)}{ratio}",
            )
        )
    if not rows:
        return Chart(title=title, figure=figure, says=_NO_INJECTION)
    says = "Memories with a repaired rule; their injections count before and after the repair."
    return Chart(
        title=title,
        figure=figure,
        says=says,
        picture=charts.pairs(
            title,
            "; ".join(f"{row.name} {row.says}".strip() for row in rows),
            rows,
            ("share of the store", "share of injections"),
        ),
    )


def _growth(run: Figures) -> Chart:
    title, figure = "The store over the stream", "Fig. 3a"
    found = run.analyses
    if not found.memories:
        return Chart(title=title, figure=figure, says=_NO_MEMORY)
    at = [0, *(each.tasks for each in found.growth)]
    layers = [
        (state, [0, *(each.states[number] for each in found.growth)])
        for number, state in enumerate(STATES)
    ]
    return Chart(
        title=title,
        figure=figure,
        says=f"Memories by state, inactive ones included; {count(found.memories)} at the end.",
        picture=charts.areas(
            title,
            f"It grows to {count(found.memories)} memories.",
            list(reversed(layers)),
            at,
            drawing.tasks(run.header.tasks),
            drawing.counts("memories", max(each.memories for each in found.growth)),
        )
        if found.growth
        else None,
    )


def _used(run: Figures) -> Chart:
    title, figure = "Share of the store that was used", "Fig. 3b"
    found = run.analyses
    points = tuple((each.tasks, each.used) for each in found.growth if each.used is not None)
    if not points:
        return Chart(title=title, figure=figure, says=_NO_MEMORY)
    return Chart(
        title=title,
        figure=figure,
        says=f"Injected at least once by then; {share(found.used)} at the end.",
        picture=charts.lines(
            title,
            f"At the end {share(found.used)}.",
            [Series(name="", points=points)],
            drawing.tasks(run.header.tasks),
            drawing.shares("used"),
        ),
    )


def _sizes(runs: Sequence[Figures]) -> Chart:
    title, figure = "Size of the store, and how much of it was used", "Fig. 3"
    rows = [
        (
            run.name,
            float(run.analyses.memories),
            f"{count(run.analyses.memories)} memories, {share(run.analyses.used)} used",
        )
        for run in runs
    ]
    return Chart(
        title=title,
        figure=figure,
        says="Memories at the end, inactive ones included; used is injected at least once.",
        picture=charts.bars(
            title,
            "; ".join(f"{name} {says}" for name, _, says in rows),
            rows,
            max(value for _, value, _ in rows),
        ),
    )


def _concentration(runs: Sequence[Figures]) -> Chart:
    title, figure = "Concentration of reuse", "Fig. 6"
    held = _with_injections(runs)
    if not held:
        return Chart(title=title, figure=figure, says=_NO_INJECTION)
    series = [Series(name=_name(run, runs), points=tuple(_curve(run.analyses))) for run in held]
    tops = "; ".join(f"{_name(run, runs)} {share(run.analyses.top_tenth)}".strip() for run in held)
    says = f"The most used tenth of the store got {tops} of the injections."
    return Chart(
        title=title,
        figure=figure,
        says=f"{says} Dashed: all memories used alike.",
        picture=charts.lines(
            title,
            says,
            series,
            drawing.shares("memories, most used first"),
            drawing.shares("injections"),
            diagonal=True,
        ),
    )


def _curve(found: Analyses) -> Iterator[tuple[float, float]]:
    for place, got in found.concentration:
        yield place / found.memories, got


def _ages(run: Figures) -> Chart:
    title, figure = "Age at injection", "Fig. 7"
    ages = run.analyses.ages
    if ages is None:
        return Chart(title=title, figure=figure, says=_NO_INJECTION)
    before = (0, *AGES)
    bars = [
        (f"{low}\N{EN DASH}{high}%", float(number), count(number))
        for low, high, number in zip(before, AGES, ages.counts, strict=False)
    ]
    says = (
        f"Injections by the share of the stream since admission: median {share(ages.median)}, "
        f"5th to 95th percentile {share(ages.p5)} to {share(ages.p95)}."
    )
    picture = charts.columns(title, says, bars, "age, share of the stream")
    return Chart(title=title, figure=figure, says=says, picture=picture)


def _spread(runs: Sequence[Figures]) -> Chart:
    title, figure = "Age at injection", "Fig. 7"
    rows = []
    for run in runs:
        ages = run.analyses.ages
        if ages is not None:
            says = f"median {share(ages.median)}"
            low, high = ages.p5, ages.p95
            rows.append(Spread(name=run.name, low=low, value=ages.median, high=high, says=says))
    if not rows:
        return Chart(title=title, figure=figure, says=_NO_INJECTION)
    axis = drawing.ages(min(row.low for row in rows))
    return Chart(
        title=title,
        figure=figure,
        says="Share of the stream since admission; median, and 5th to 95th percentile.",
        picture=charts.whiskers(
            title, "; ".join(f"{row.name} {row.says}" for row in rows), rows, axis
        ),
    )


def _depths(runs: Sequence[Figures]) -> Chart:
    title, figure = "Revision depth", "Fig. 8"
    held = _with_memories(runs)
    if not held:
        return Chart(title=title, figure=figure, says=_NO_MEMORY)
    if len(runs) > 1:
        rows = [(run.name, run.analyses.revised or 0.0, _deepest(run.analyses)) for run in held]
        return Chart(
            title=title,
            figure=figure,
            says="Memories whose rule a repair changed, and how often at most.",
            picture=charts.bars(title, "; ".join(f"{n} {s}" for n, _, s in rows), rows, 1.0),
        )
    (run,) = held
    depths = run.analyses.depths
    if not depths:
        return Chart(title=title, figure=figure, says="No repair changed a rule.")
    bars = [(str(depth), float(number), count(number)) for depth, number in depths.items()]
    says = f"Memories by how often a repair changed their rule: {_deepest(run.analyses)}."
    picture = charts.columns(title, says, bars, "times revised")
    return Chart(title=title, figure=figure, says=says, picture=picture)


def _deepest(found: Analyses) -> str:
    revised = f"{share(found.revised)} revised"
    match max(found.depths, default=0):
        case 0:
            return revised
        case 1:
            return f"{revised}, each once"
        case deepest:
            return f"{revised}, at most {deepest} times"


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
            says="Mean paired difference over the tasks that both have scored, 95 % interval.",
            picture=charts.whiskers(
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
    best = max(points, key=lambda point: point.value)
    return Chart(
        title=f"Score by {SWEPT[key]}",
        figure=figure,
        says=f"Mean original score with its 95 % interval; highest at {best.name}.",
        picture=charts.sweep(
            f"Score by {SWEPT[key]}",
            "; ".join(f"{point.name}: {point.says}" for point in points),
            points,
            f"{SWEPT[key]} ({key.removeprefix('method.')})",
            drawing.scores("score", [v for p in points for v in (p.low, p.high)]),
        ),
    )
