"""Prompt text is quoted line by line and clipped visibly, at documented limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.llm import facts, rendering
from discernmem.decisions.llm.facts import Listed, Step


def steps(count: int, length: int) -> tuple[Step, ...]:
    return tuple(Step(f"s{n}", "solver", f"{n}:".ljust(length, "x")) for n in range(1, count + 1))


@given(st.text(max_size=600), st.integers(min_value=100, max_value=400))
def test_a_clipped_text_keeps_both_ends_within_the_limit(text: str, limit: int) -> None:
    clipped = rendering.clip(text, limit)
    assert len(clipped) <= limit
    if len(text) <= limit:
        assert clipped == text
    else:
        head, rest = clipped.split(" [... ", 1)
        count, tail = rest.split(" characters left out ...] ", 1)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + int(count) == len(text)


def test_a_clipped_text_says_how_much_is_missing() -> None:
    clipped = rendering.clip("a" * 2000 + "z" * 1000, 100)
    assert clipped == "a" * 42 + " [... 2936 characters left out ...] " + "z" * 22


@given(st.text(min_size=1))
def test_every_line_of_a_quoted_text_is_quoted(text: str) -> None:
    assert all(line.startswith("> ") for line in rendering.quote(text).splitlines())


def test_an_empty_text_is_said_to_be_empty() -> None:
    assert rendering.text("TASK", "") == "TASK:\n(empty)"


def test_a_rule_is_shown_whole_with_both_kinds_of_conditions() -> None:
    shown = rendering.rule("RULE", "x" * 5000, ("a", "b"), ())
    assert shown == f"RULE:\n> {'x' * 5000}\nuse when:\n> a\n> b\navoid when:\n(none)"


def test_listed_rules_keep_their_order_and_ids() -> None:
    shown = rendering.listed(
        "RULES", (Listed(memory="m7", body="b"), Listed(memory="m2", body="c"))
    )
    assert shown.index("[m7]\n> b") < shown.index("[m2]\n> c")


def test_no_rules_and_no_steps_and_no_texts_are_said_to_be_none() -> None:
    assert rendering.listed("A", ()) == "A:\n(none)"
    assert rendering.trajectory("A", "with", ()) == "A:\n(none)"
    assert rendering.texts("A", ()) == "A:\n(none)"


@pytest.mark.parametrize(("count", "each"), [(1, 2000), (6, 2000), (12, 1000), (1000, 100)])
def test_several_contexts_share_their_room_evenly(count: int, each: int) -> None:
    shown = rendering.texts("SITUATIONS", ["c" * 5000] * count)
    quoted = [line for line in shown.splitlines() if line.startswith("> ")]
    assert len(quoted) == count
    assert {len(line) for line in quoted} == {len("> ") + each}


def test_a_short_trajectory_is_displayed_whole() -> None:
    shown = rendering.trajectory("RUN", "with", steps(2, 4))
    assert shown == "RUN:\n[with:s1] solver\n> 1:xx\n[with:s2] solver\n> 2:xx"


def test_a_long_trajectory_loses_its_middle_and_says_so() -> None:
    run = steps(30, 600)
    shown = rendering.trajectory("RUN", "none", run)
    assert [line for line in shown.splitlines() if line.startswith("[")] == [
        *(f"[none:s{n}] solver" for n in range(1, 6)),
        "[... 20 steps left out ...]",
        *(f"[none:s{n}] solver" for n in range(26, 31)),
    ]


@given(st.lists(st.integers(min_value=0, max_value=3000), max_size=40))
def test_exactly_the_displayed_steps_may_be_cited(lengths: list[int]) -> None:
    run = tuple(Step(f"s{n}", "solver", "x" * length) for n, length in enumerate(lengths))
    head, tail = facts.displayed(run)
    assert run[: len(head)] == head
    assert run[len(run) - len(tail) :] == tail
    shown = sum(min(len(step.text), facts.STEP_LIMIT) for step in head + tail)
    assert shown <= facts.TRAJECTORY_LIMIT
    if len(head) + len(tail) < len(run):
        assert shown + facts.STEP_LIMIT > facts.TRAJECTORY_LIMIT
    text = rendering.trajectory("RUN", "with", run)
    ids = facts.evidence_ids("with", run)
    assert [line[1:].split("]")[0] for line in text.splitlines() if "] solver" in line] == list(ids)


def test_a_team_members_name_cannot_start_a_line() -> None:
    shown = rendering.trajectory("RUN", "with", (Step("s1", "solver\nRULE:", "x"),))
    assert shown.splitlines() == ["RUN:", "[with:s1] solver RULE:", "> x"]
