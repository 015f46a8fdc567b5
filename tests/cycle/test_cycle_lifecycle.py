"""Every transition of A.1 as it happens in a stream."""

from __future__ import annotations

from typing import Any

import pytest
from golden import check_golden
from scenario import Scenario, Tell, by_task, rule, scope

from discernmem.eventlog import events as ev

RULE = "say the first herb"


def lived(*scores: float, checks: Any = None, **more: Any) -> Scenario:
    """A rule learned on q1 that then scores so on q2, q3 …; without it each scores 0.5."""
    return Scenario(
        tasks=len(scores) + 1,
        learn={"q1": rule(RULE, avoid=["the jar is empty"])},
        scores={RULE: {f"q{n}": score for n, score in enumerate(scores, start=2)}},
        decisions={"scope check": by_task(checks or {}, scope())},
        **more,
    )


def test_two_helped_tasks_promote(tell: Tell) -> None:
    story = tell(lived(1.0, 1.0))
    assert story.transitions() == [(3, "m1", "provisional", "active", "promotion")]
    assert story.one(ev.StateChanged).evidence == tuple(e.event_id for e in story.effects())


def test_a_mean_of_the_tolerance_does_not_promote(tell: Tell) -> None:
    assert tell(lived(1.0, 0.5, method={"epsilon": 0.25})).transitions() == []


def test_any_negative_effect_stands_against_promotion_even_one_of_scope(tell: Tell) -> None:
    story = tell(lived(1.0, 0.25, 1.0, checks={"q3": scope(use=False)}))
    assert [e.label for e in story.effects()] == ["NONE", "SCOPE", "NONE"]
    assert story.transitions() == []


def test_sustained_harm_retires_a_provisional_memory(tell: Tell) -> None:
    story = tell(lived(0.0, 0.5, 0.0, 0.5))
    assert story.transitions() == [(4, "m1", "provisional", "inactive", "sustained harm")]
    assert story.one(ev.StateChanged).evidence == tuple(e.event_id for e in story.effects())
    assert story.one(ev.TaskScored, 5).supplied == ()
    assert story.of(ev.MemoriesRetrieved, 5) == []


def test_one_positive_effect_protects_a_provisional_memory(tell: Tell) -> None:
    assert tell(lived(0.0, 0.0, 0.75, 0.0)).transitions() == []


def test_sustained_harm_retires_an_active_memory_after_three_in_a_row(tell: Tell) -> None:
    story = tell(lived(1.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0))
    assert story.transitions() == [
        (3, "m1", "provisional", "active", "promotion"),
        (9, "m1", "active", "inactive", "sustained harm"),
    ]
    assert story.of(ev.StateChanged)[1].evidence == tuple(e.event_id for e in story.effects()[-3:])
    check_golden(story, "sustained_harm")


@pytest.mark.parametrize("start", [(), (1.0, 1.0)], ids=["provisional", "active"])
def test_misuse_does_not_retire(tell: Tell, start: tuple[float, ...]) -> None:
    first = len(start) + 2
    checks = {f"q{n}": scope(use=False) for n in range(first, first + 3)}
    story = tell(lived(*start, 0.0, 0.0, 0.0, checks=checks))
    assert [e.label for e in story.effects()][-3:] == ["SCOPE"] * 3
    assert story.memory().state == ("active" if start else "provisional")


def test_misuse_between_does_not_count_towards_sustained_harm(tell: Tell) -> None:
    story = tell(lived(0.0, 0.0, 0.0, 0.0, checks={"q4": scope(use=False)}))
    assert story.transitions() == [(5, "m1", "provisional", "inactive", "sustained harm")]
    counted = [e.event_id for e in story.effects() if e.label != "SCOPE"]
    assert story.one(ev.StateChanged).evidence == tuple(counted)


def test_five_changed_but_neutral_uses_retire_as_ineffective(tell: Tell) -> None:
    story = tell(lived(*[0.5] * 5, chatty=[RULE]))
    assert [e.changed for e in story.effects()] == [True] * 5
    assert story.transitions() == [(6, "m1", "provisional", "inactive", "ineffectiveness")]


def test_uses_that_changed_nothing_say_nothing_about_effectiveness(tell: Tell) -> None:
    story = tell(lived(*[0.5] * 5))
    assert [e.changed for e in story.effects()] == [False] * 5
    assert story.transitions() == []


def test_a_use_with_an_avoid_match_says_nothing_about_effectiveness(tell: Tell) -> None:
    story = tell(lived(*[0.5] * 6, chatty=[RULE], checks={"q4": scope(avoid=True)}))
    assert story.transitions() == [(7, "m1", "provisional", "inactive", "ineffectiveness")]


def test_one_effect_that_is_not_neutral_rules_out_ineffectiveness(tell: Tell) -> None:
    assert tell(lived(0.25, *[0.5] * 5, chatty=[RULE])).transitions() == []
