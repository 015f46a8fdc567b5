"""Scores with memory and without, and how sure their means are."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lively import quick_folder, record, rich_seed

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.projections.scores import (
    Interval,
    ScoreRow,
    bootstrap,
    paired,
    running,
    score_rows,
    scores_of,
)


def row(index: int, score: float, without: float | None = None) -> ScoreRow:
    return ScoreRow(index=index, task=f"q{index}", score=score, without=without, supplied=0)


def brute(values: Sequence[float], seed: int = 7, resamples: int = 4000) -> tuple[float, float]:
    """The interval by drawing the values one by one."""
    draw = random.Random(seed)
    means = [sum(draw.choices(values, k=len(values))) / len(values) for _ in range(resamples)]
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


# -- the bootstrap -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["even", "rare", "spread"])
def test_intervals_are_those_of_drawing_tasks_one_by_one(kind: str) -> None:
    draw = random.Random(3)
    values = {
        "even": [1.0, 0.0] * 20,
        "rare": [1.0] * 2 + [0.0] * 38,
        "spread": [draw.random() for _ in range(40)],
    }[kind]
    found = bootstrap(values)
    assert found is not None
    low, high = brute(values)
    assert found.mean == pytest.approx(sum(values) / 40, abs=1e-6)
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)


def test_of_scores_that_always_differ_by_as_much_the_difference_is_sure() -> None:
    found = scores_of([row(n, score, score - 0.25) for n, score in enumerate((0.25, 0.5, 1.0), 1)])
    assert found.gain == Interval(mean=0.25, low=0.25, high=0.25)
    assert found.original is not None
    assert found.original.low < found.original.high


def test_equal_scores_have_equal_intervals_whatever_they_are_compared_with() -> None:
    first = scores_of([row(n, n % 2, n % 3 == 0) for n in range(1, 13)])
    second = scores_of([row(n, 1.0, n % 3 == 0) for n in range(1, 13)])
    assert first.without == second.without


def test_what_is_drawn_is_the_same_every_time() -> None:
    """The draws are pinned: a report of a log must not change with the library that makes it."""
    found = bootstrap([1.0, 0.0, 0.5, 0.25, 1.0, 0.0])
    assert found == Interval(mean=0.458333, low=0.125, high=0.791667)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12))
def test_the_order_of_tasks_changes_no_interval(values: list[float]) -> None:
    assert bootstrap(values) == bootstrap(values[::-1])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_an_interval_lies_among_the_values(values: list[float]) -> None:
    found = bootstrap(values)
    assert found is not None
    assert min(values) - 1e-6 <= found.low <= found.high <= max(values) + 1e-6


def test_without_a_task_there_is_no_interval() -> None:
    assert bootstrap([]) is None
    assert bootstrap([0.5]) == Interval(mean=0.5, low=0.5, high=0.5)


def test_many_kinds_of_values_are_drawn_in_parts() -> None:
    """More kinds than are drawn at once are drawn in chunks, and mean the same."""
    draw = random.Random(5)
    values = [round(draw.random(), 3) for _ in range(900)]
    found = bootstrap(values)
    assert found is not None
    spread = 1.96 * float(np.std(values)) / 30
    assert found.low == pytest.approx(found.mean - spread, abs=0.002)
    assert found.high == pytest.approx(found.mean + spread, abs=0.002)


# -- scores of a run ---------------------------------------------------------------------------


def test_what_is_compared_is_over_the_tasks_where_both_scores_are_known() -> None:
    found = scores_of([row(1, 1.0, 0.5), row(2, 0.0), row(3, 0.0, 0.5), row(4, 1.0, 1.0)])
    assert (found.tasks, found.known, found.helped, found.hurt) == (4, 3, 1, 1)
    assert found.mean is not None
    assert found.original is not None
    assert found.without is not None
    assert found.gain is not None
    assert found.mean.mean == 0.5
    assert found.original.mean == pytest.approx(2 / 3, abs=1e-6)
    assert found.without.mean == pytest.approx(2 / 3, abs=1e-6)
    assert found.gain.mean == 0.0


def test_a_run_without_scores_has_none() -> None:
    found = scores_of([])
    assert (found.tasks, found.mean, found.original, found.gain) == (0, None, None, None)
    known_nothing = scores_of([row(1, 1.0)])
    assert known_nothing.mean == Interval(mean=1.0, low=1.0, high=1.0)
    assert known_nothing.gain is None


def test_where_all_is_known_the_mean_is_the_one_that_is_compared() -> None:
    found = scores_of([row(1, 1.0, 0.5), row(2, 0.25, 0.5), row(3, 0.0, 0.5)])
    assert found.mean == found.original


def test_running_means_are_over_the_first_tasks_that_count() -> None:
    found = running([row(1, 1.0, 0.0), row(2, 0.5), row(3, 0.0, 0.0), row(4, 0.5, 1.0)])
    assert [each.index for each in found] == [1, 3, 4]
    assert [each.mean.mean for each in found] == [1.0, 0.5, 0.5]
    gains = [each.gain.mean for each in found if each.gain]
    assert gains == [1.0, 0.5, pytest.approx(1 / 6, abs=1e-6)]


def test_running_means_are_of_all_tasks_if_none_is_known_without_memory() -> None:
    found = running([row(1, 1.0), row(2, 0.0)])
    assert [each.mean.mean for each in found] == [1.0, 0.5]
    assert {each.without for each in found} == {None}


def test_a_long_stream_is_told_at_some_places_and_its_end() -> None:
    found = running([row(n, n % 2, 0.0) for n in range(1, 1001)], points=8)
    assert [each.index for each in found] == [125, 250, 375, 500, 625, 750, 875, 1000]


def test_runs_are_paired_by_task_wherever_it_is_in_the_stream() -> None:
    found = paired([row(2, 1.0), row(1, 0.0), row(3, 1.0)], [row(1, 0.5), row(2, 0.5), row(9, 1)])
    assert (found.tasks, found.better, found.worse) == (2, 1, 1)
    assert found.gain is not None
    assert found.gain.mean == 0.0
    none = paired([row(1, 1.0)], [row(2, 1.0)])
    assert (none.tasks, none.gain) == (0, None)


def test_scores_of_a_log_are_those_of_its_events() -> None:
    with quick_folder() as folder, EventLog.open(record(folder, rich_seed())) as log:
        rows = score_rows(log)
        events = [recorded.event for recorded in log.read()]
    without: dict[str, float] = {}
    for event in events:
        if isinstance(event, ev.ExecutionFinished) and not event.supplied:
            without.setdefault(event.task, event.score)
    scored = [event for event in events if isinstance(event, ev.TaskScored)]
    assert rows == tuple(
        ScoreRow(
            index=event.index,
            task=event.task,
            score=event.score,
            without=without.get(event.task),
            supplied=len(event.supplied),
        )
        for event in scored
    )
    assert any(each.supplied for each in rows)
    assert any(each.without != each.score for each in rows)
