"""How a scope grows (method, section 5; Eq. 12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.attribution import Attribution
from discernmem.decisions.boundary import (
    may_generalise,
    new_avoid,
    new_uses,
    qualifying_positive,
)
from discernmem.eventlog import events as ev
from discernmem.projections.evidence import Effect


def effect(
    index: int,
    sign: ev.Sign = "positive",
    *,
    avoid: bool = False,
    origin: ev.Origin = "reuse",
) -> Effect:
    return Effect(
        event_id=f"e{index}",
        task=f"t{index}",
        task_index=index,
        origin=origin,
        effect={"positive": 0.5, "neutral": 0.0, "negative": -0.5}[sign],
        sign=sign,
        label="SCOPE" if avoid else "NONE",
        avoid=avoid,
        changed=True,
        context=None if origin == "calibration" else ev.BlobRef(f"context{index}"),
    )


@pytest.mark.parametrize(
    ("label", "boundary", "expected"),
    [
        pytest.param("SCOPE", "the lid is stuck", "the lid is stuck", id="SCOPE and concrete"),
        pytest.param("SCOPE", " the  lid\nis stuck ", "the lid is stuck", id="spacing is tidied"),
        pytest.param("SCOPE", " \n", None, id="no boundary was named"),
        pytest.param("SCOPE", "The door  is SHUT", None, id="already present in other letters"),
        pytest.param("CONTENT", "the lid is stuck", None, id="CONTENT adds nothing"),
        pytest.param("NONE", "the lid is stuck", None, id="NONE adds nothing"),
    ],
)
def test_an_avoid_condition_is_added_only_under_scope_and_if_concrete_and_new(
    label: ev.Label, boundary: str, expected: str | None
) -> None:
    present = ["the door is shut"]
    assert new_avoid(present, Attribution(label, "", boundary)) == expected


def test_a_task_qualifies_by_a_positive_effect_without_an_avoid_match() -> None:
    effects = [
        effect(7),
        effect(2, "negative"),
        effect(3, avoid=True),
        effect(4, "neutral"),
        effect(5, origin="calibration"),
        effect(1, origin="attachment"),
        effect(6),
    ]
    assert [each.task for each in qualifying_positive(effects)] == ["t1", "t6", "t7"]


@pytest.mark.parametrize(
    ("newest", "n_plus", "expected"),
    [
        pytest.param(effect(3), 2, True, id="a qualifying use and enough tasks"),
        pytest.param(effect(3), 3, False, id="a qualifying use and too few tasks"),
        pytest.param(effect(3, "neutral"), 1, False, id="the use was not positive"),
        pytest.param(effect(3, avoid=True), 1, False, id="an avoid condition matched"),
        pytest.param(effect(3), 1, True, id="one task is enough when one is asked for"),
    ],
)
def test_use_conditions_may_grow_after_a_qualifying_use_with_enough_tasks(
    newest: Effect, n_plus: int, expected: bool
) -> None:
    effects = (effect(1), effect(2, "neutral"), newest)
    assert may_generalise(newest, effects, n_plus) is expected


def test_the_same_task_twice_is_one_task() -> None:
    again = effect(1)
    assert not may_generalise(again, (effect(1), again), 2)


def test_only_new_use_conditions_are_added_each_once() -> None:
    returned = ["A box  is open", "", "two boxes", "Two Boxes", "a lamp is near"]
    assert new_uses(["a box is open"], returned) == ("two boxes", "a lamp is near")


@given(st.lists(st.text()), st.lists(st.text()))
def test_offering_the_additions_again_adds_nothing(present: list[str], offered: list[str]) -> None:
    added = new_uses(present, offered)
    assert new_uses([*present, *added], offered) == ()
    assert all(text.strip() for text in added)
