"""The paired effect, its sign and the record it may enter (method, section 1 and 5)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.effects import distinct, enters_record, paired_effect, sign
from discernmem.projections.evidence import Effect

SCORES = st.integers(0, 1000).map(lambda n: n / 1000)


def effect(task: str, value: float = 0.0) -> Effect:
    return Effect(
        event_id=f"e-{task}-{value}",
        task=task,
        task_index=int(task[1:]),
        origin="reuse",
        effect=value,
        sign=sign(value, 0.01),
        label="NONE",
        avoid=False,
        changed=False,
        context=None,
    )


@pytest.mark.parametrize(
    ("score_with", "score_without", "expected"),
    [
        pytest.param(0.511, 0.5, "positive", id="above the tolerance is positive"),
        pytest.param(0.51, 0.5, "neutral", id="the tolerance itself is neutral"),
        pytest.param(0.5, 0.5, "neutral", id="no difference is neutral"),
        pytest.param(0.5, 0.51, "neutral", id="the tolerance downwards is neutral"),
        pytest.param(0.5, 0.511, "negative", id="below the tolerance is negative"),
    ],
)
def test_the_sign_is_strict_on_both_sides(
    score_with: float, score_without: float, expected: str
) -> None:
    assert sign(paired_effect(score_with, score_without), 0.01) == expected


def test_with_no_tolerance_any_difference_counts() -> None:
    assert sign(paired_effect(0.5000001, 0.5), 0.0) == "positive"
    assert sign(0.0, 0.0) == "neutral"


def test_binary_noise_does_not_make_an_effect() -> None:
    assert 0.51 - 0.50 > 0.01
    assert paired_effect(0.51, 0.50) == 0.01


@given(SCORES, SCORES)
def test_an_effect_is_with_minus_without_and_turns_with_its_arguments(a: float, b: float) -> None:
    assert paired_effect(a, b) == pytest.approx(a - b, abs=1e-9)
    assert paired_effect(a, b) == -paired_effect(b, a)


@given(SCORES)
def test_no_difference_is_positive_zero(score: float) -> None:
    assert math.copysign(1, paired_effect(score, score)) == 1
    assert math.copysign(1, paired_effect(score, score + 1e-12)) == 1


def test_the_source_task_never_enters_the_record() -> None:
    assert not enters_record("t1", "t1", ())


def test_a_task_enters_the_record_of_a_version_once() -> None:
    assert enters_record("t2", "t1", ())
    assert enters_record("t2", "t1", (effect("t3"),))
    assert not enters_record("t2", "t1", (effect("t3"), effect("t2")))


def test_of_two_effects_on_one_task_the_first_counts() -> None:
    first, other, second = effect("t2", 0.5), effect("t3", 0.1), effect("t2", -0.5)
    assert distinct([first, other, second]) == (first, other)
