"""The paper's figures of what became of memories: of one run, or of several side by side.

Rows and lines are named where there are several runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...projections.analyses import AGES, STATES, Analyses
from .. import charts, drawing, row_charts
from ..charts import Series
from ..rendering import count, share
from ..row_charts import Pair, Parts, Spread
from .chart import Chart
from .figures import Figures

_NO_MEMORY: Final = "No memory was ever stored."
_TOO_EARLY: Final = "Too little of the stream is done to draw this."
_NO_INJECTION: Final = "No memory was ever injected."

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
    return Chart(
        title=title, figure=figure, says=says, picture=row_charts.stacks(title, desc, rows)
    )


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
        picture=row_charts.pairs(
            title,
            "; ".join(f"{row.name} {row.says}".strip() for row in rows),
            rows,
            ("share of the store", "share of injections"),
        ),
    )


def _growth(run: Figures) -> Chart:
    title, figure = "The store over the stream", "Fig. 3a"
    found = run.analyses
    if not (found.memories and found.growth):
        return Chart(title=title, figure=figure, says=_why_none(found))
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
            f"At the end {_memories(found)}.",
            list(reversed(layers)),
            at,
            drawing.tasks(run.header.tasks),
            drawing.counts("memories", max(each.memories for each in found.growth)),
        ),
    )


def _why_none(found: Analyses) -> str:
    return _TOO_EARLY if found.memories else _NO_MEMORY


def _used(run: Figures) -> Chart:
    title, figure = "Share of the store that was used", "Fig. 3b"
    found = run.analyses
    points = tuple((each.tasks, each.used) for each in found.growth if each.used is not None)
    if not points:
        return Chart(title=title, figure=figure, says=_why_none(found))
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
            _size(run.analyses),
        )
        for run in runs
    ]
    return Chart(
        title=title,
        figure=figure,
        says="Memories at the end, inactive ones included; used is injected at least once.",
        picture=row_charts.bars(
            title,
            "; ".join(f"{name} {says}" for name, _, says in rows),
            rows,
            max(value for _, value, _ in rows),
        ),
    )


def _size(found: Analyses) -> str:
    used = f", {share(found.used)} used" if found.memories else ""
    return f"{_memories(found)}{used}"


def _memories(found: Analyses) -> str:
    return f"{count(found.memories)} {'memory' if found.memories == 1 else 'memories'}"


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
        picture=row_charts.whiskers(
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
            picture=row_charts.bars(title, "; ".join(f"{n} {s}" for n, _, s in rows), rows, 1.0),
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
