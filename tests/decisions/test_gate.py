"""The gate, its calibration variant and the ranking (method, sections 7 and 9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.gate import (
    Purpose,
    Ranked,
    Verdict,
    compare,
    judge_calibration,
    judge_reuse,
    rank,
)
from discernmem.eventlog import events as ev

EPSILON = 0.01
SCORES = st.integers(0, 20).map(lambda n: n / 20)


def trigger(candidate: float, parent: float = 0.2, none: float = 0.5) -> ev.Comparison:
    return compare("q", "trigger", candidate, parent, none)


def judge(*comparisons: ev.Comparison, **said: Any) -> Verdict:
    """The reuse gate's verdict on an edit that says all it should, unless ``said`` otherwise."""
    asked = {"cites_diagnosed": True, "states_correction": True, "changes_body": True, **said}
    return judge_reuse(comparisons, epsilon=EPSILON, **asked)


def test_the_margins_are_over_the_parent_and_over_no_memory() -> None:
    made = compare("h", "related", 0.51, 0.5, 0.52)
    assert (made.gamma, made.beta) == (0.01, -0.01)


@pytest.mark.parametrize(
    ("candidate", "parent", "none", "accepted", "reason"),
    [
        pytest.param(0.5, 0.2, 0.5, True, "accepted", id="as good as the better of both"),
        pytest.param(0.49, 0.2, 0.5, True, "accepted", id="short by exactly the tolerance"),
        pytest.param(0.49, 0.5, 0.2, True, "accepted", id="short of the parent by the tolerance"),
        pytest.param(
            0.48, 0.2, 0.5, False, "scores below no memory", id="short of no memory by more"
        ),
        pytest.param(
            0.48, 0.5, 0.2, False, "scores below the parent", id="short of the parent by more"
        ),
    ],
)
@pytest.mark.parametrize("purpose", ["trigger", "retention", "related"])
def test_a_candidate_may_not_regress_on_any_task(
    purpose: Purpose, candidate: float, parent: float, none: float, accepted: bool, reason: str
) -> None:
    tried = compare("h", purpose, candidate, parent, none)
    made = judge(tried) if purpose == "trigger" else judge(trigger(0.6), tried)
    assert (made.accepted, made.reason) == (accepted, reason)
    assert made.rejected_by == ("" if accepted else "h")


def test_the_first_regression_is_named_the_trigger_before_the_history() -> None:
    bad = compare("h1", "retention", 0.1, 0.9, 0.0)
    worse = compare("h2", "related", 0.0, 0.9, 0.0)
    assert judge(bad, worse, trigger(0.0)).rejected_by == "q"
    assert judge(bad, worse, trigger(0.6)).rejected_by == "h1"


def test_a_candidate_may_not_fail_completely_more_often_than_its_parent() -> None:
    slips = compare("h", "related", 0.0, 0.005, 0.0)
    made = judge(trigger(0.6), slips)
    assert (made.failures, made.parent_failures) == (1, 0)
    assert (made.accepted, made.reason) == (False, "more complete failures than the parent")
    assert made.rejected_by == ""


def test_as_many_complete_failures_as_the_parent_are_allowed() -> None:
    slips = compare("h", "related", 0.0, 0.005, 0.0)
    made = judge(trigger(0.6, parent=0.0), slips)
    assert (made.failures, made.parent_failures, made.accepted) == (1, 1, True)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param({}, "accepted", id="all three are given"),
        pytest.param(
            {"cites_diagnosed": False},
            "not improving and cites no diagnosed evidence",
            id="no diagnosed evidence is cited",
        ),
        pytest.param(
            {"states_correction": False},
            "not improving and states no correction",
            id="no correction is stated",
        ),
        pytest.param(
            {"changes_body": False},
            "not improving and leaves the body unchanged",
            id="the body is unchanged",
        ),
    ],
)
def test_a_candidate_that_does_not_improve_must_justify_itself(
    said: dict[str, bool], reason: str
) -> None:
    even = trigger(0.5, parent=0.49, none=0.5)
    made = judge(even, **said)
    assert (made.improving, made.accepted, made.reason) == (False, reason == "accepted", reason)
    assert made.rejected_by == ""


@pytest.mark.parametrize("said", ["cites_diagnosed", "states_correction", "changes_body"])
def test_an_improving_candidate_need_not_justify_itself(said: str) -> None:
    assert judge(trigger(0.6), **{said: False}).accepted


def test_a_gain_of_exactly_the_tolerance_is_no_improvement() -> None:
    assert not judge(trigger(0.51, parent=0.5, none=0.5)).improving
    assert judge(trigger(0.52, parent=0.5, none=0.5)).improving


def test_the_worst_margin_is_over_the_historical_tasks_alone() -> None:
    history = [
        compare("h1", "retention", 0.9, 0.5, 0.7),
        compare("h2", "related", 0.8, 0.75, 0.1),
    ]
    made = judge(trigger(0.5), *history)
    assert made.worst_margin == 0.05
    assert made.trigger_gain == 0.3


def test_without_history_there_is_no_worst_margin() -> None:
    assert judge(trigger(0.6)).worst_margin is None


@pytest.mark.parametrize("count", [0, 2])
def test_a_reuse_gate_needs_exactly_one_trigger(count: int) -> None:
    with pytest.raises(ValueError, match=f"one trigger comparison \\(got {count}\\)"):
        judge(*[trigger(0.6)] * count)


@given(st.lists(st.tuples(SCORES, SCORES, SCORES), min_size=1, max_size=4))
def test_acceptance_is_equations_nine_and_ten(scores: list[tuple[float, float, float]]) -> None:
    purposes: list[Purpose] = ["trigger", "retention", "retention", "related"]
    compared = [
        compare(f"h{n}", purpose, *each)
        for n, (purpose, each) in enumerate(zip(purposes, scores, strict=False))
    ]
    nine = all(c >= max(p, n) - EPSILON for c, p, n in scores)
    ten = sum(c <= 0 for c, _, _ in scores) <= sum(p <= 0 for _, p, _ in scores)
    assert judge(*compared).accepted == (nine and ten)


# -- calibration -------------------------------------------------------------------------------


def calibration(task: str, candidate: float, parent: float, none: float) -> ev.Comparison:
    return compare(task, "calibration", candidate, parent, none)


@pytest.mark.parametrize(
    ("candidate", "accepted"),
    [
        pytest.param(0.5, True, id="as good as no memory"),
        pytest.param(0.49, True, id="short by exactly the tolerance"),
        pytest.param(0.48, False, id="short by more"),
    ],
)
def test_a_calibrated_candidate_may_not_regress(candidate: float, accepted: bool) -> None:
    made = judge_calibration([calibration("h", candidate, 0.2, 0.5)], epsilon=EPSILON)
    assert made.accepted is accepted
    assert made.rejected_by == ("" if accepted else "h")


def test_a_calibrated_candidate_must_pass_on_every_task() -> None:
    compared = [calibration("h1", 0.6, 0.2, 0.5), calibration("h2", 0.6, 0.9, 0.5)]
    made = judge_calibration(compared, epsilon=EPSILON)
    assert (made.accepted, made.rejected_by) == (False, "h2")
    assert made.worst_margin == -0.3


def test_calibration_asks_for_no_fewer_complete_failures() -> None:
    compared = [calibration("h1", 0.5, 0.2, 0.5), calibration("h2", 0.0, 0.005, 0.0)]
    made = judge_calibration(compared, epsilon=EPSILON)
    assert (made.failures, made.parent_failures, made.accepted) == (1, 0, True)


def test_the_trigger_of_a_calibration_is_the_first_task_that_the_parent_harmed() -> None:
    compared = [calibration("h1", 0.9, 0.9, 0.5), calibration("h2", 0.6, 0.2, 0.5)]
    made = judge_calibration(compared, epsilon=EPSILON)
    assert (made.improving, made.trigger_gain) == (True, 0.4)


@pytest.mark.parametrize("compared", [[], [calibration("h", 0.5, 0.5, 0.5)]])
def test_a_calibration_gate_needs_a_task_with_harm(compared: list[ev.Comparison]) -> None:
    with pytest.raises(ValueError, match="on which the parent did harm"):
        judge_calibration(compared, epsilon=EPSILON)


# -- ranking -----------------------------------------------------------------------------------


def ranked(
    *,
    improving: bool = True,
    gain: float = 0.2,
    margin: float | None = 0.1,
    distance: int = 10,
    number: int = 1,
    accepted: bool = True,
    round: int = 1,  # noqa: A002
) -> Ranked:
    verdict = Verdict(
        accepted=accepted,
        improving=improving,
        trigger_gain=gain,
        worst_margin=margin,
        failures=0,
        parent_failures=0,
        rejected_by="",
        reason="",
    )
    return Ranked(verdict=verdict, distance=distance, round=round, number=number)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(
            ranked(gain=0.1, margin=0.0, distance=99, number=3),
            ranked(improving=False, gain=0.2),
            id="improving comes before not improving",
        ),
        pytest.param(
            ranked(gain=0.3, margin=0.0, distance=99, number=3), ranked(), id="then larger gain"
        ),
        pytest.param(
            ranked(margin=0.2, distance=99, number=3), ranked(), id="then larger worst margin"
        ),
        pytest.param(
            ranked(margin=None, distance=99, number=3),
            ranked(margin=1.0),
            id="no history counts as an infinite margin",
        ),
        pytest.param(ranked(distance=9, number=3), ranked(), id="then smaller edit"),
        pytest.param(ranked(round=1, number=2), ranked(round=2), id="then earlier round"),
        pytest.param(ranked(number=1), ranked(number=2), id="then earlier in the round"),
    ],
)
def test_each_criterion_decides_when_those_before_it_tie(better: Ranked, worse: Ranked) -> None:
    assert rank([worse, better]) == [better, worse]


def test_rejected_candidates_are_not_ranked() -> None:
    assert rank([ranked(accepted=False)]) == []


@given(st.data())
def test_the_ranking_does_not_depend_on_the_order_of_judging(data: st.DataObject) -> None:
    few = st.integers(0, 2)
    places = data.draw(st.lists(st.tuples(few, few), unique=True, max_size=6))
    judged = [
        ranked(
            improving=data.draw(st.booleans()),
            gain=data.draw(few) / 10,
            margin=data.draw(st.none() | few.map(float)),
            distance=data.draw(few),
            round=place[0],
            number=place[1],
        )
        for place in places
    ]
    assert rank(data.draw(st.permutations(judged))) == rank(judged)
    assert len(rank(judged)) == len(judged)
