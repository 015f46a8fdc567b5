"""The lifecycle table, rule by rule (method, section 6; A.1)."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.lifecycle import RULES, Transition, transition
from discernmem.eventlog import events as ev
from discernmem.projections.evidence import Effect

EPSILON = 0.01
VALUES: dict[str, float] = {"+": 0.5, "0": 0.0, "-": -0.5}
SIGNS: dict[str, ev.Sign] = {"+": "positive", "0": "neutral", "-": "negative"}
STATES: tuple[ev.State, ...] = get_args(ev.State)


def effect(
    index: int,
    mark: str,
    *,
    label: ev.Label = "NONE",
    value: float | None = None,
    avoid: bool = False,
    changed: bool = True,
    task: int | None = None,
) -> Effect:
    """An effect from a mark: ``+``, ``0`` or ``-``."""
    return Effect(
        event_id=f"e{index}",
        task=f"t{index if task is None else task}",
        task_index=index,
        origin="reuse",
        effect=VALUES[mark] if value is None else value,
        sign=SIGNS[mark],
        label=label,
        avoid=avoid,
        changed=changed,
        context=None,
    )


def effects(marks: str) -> tuple[Effect, ...]:
    """Effects from marks, oldest first; ``s`` before a mark labels that one ``SCOPE``."""
    made: list[Effect] = []
    label: ev.Label = "NONE"
    for mark in marks:
        if mark == "s":
            label = "SCOPE"
        else:
            made.append(effect(len(made) + 1, mark, label=label))
            label = "NONE"
    return tuple(made)


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(f"e{number}" for number in numbers)


PROMOTION = ("active", "promotion")
HARM = ("inactive", "sustained harm")
INEFFECTIVE = ("inactive", "ineffectiveness")


@pytest.mark.parametrize(
    ("state", "marks", "expected", "evidence"),
    [
        pytest.param("provisional", "++", PROMOTION, ids(1, 2), id="promoted on two good tasks"),
        pytest.param("provisional", "+0", PROMOTION, ids(1, 2), id="promoted on a good mean"),
        pytest.param("provisional", "+", None, (), id="one task does not promote"),
        pytest.param("provisional", "00", None, (), id="a neutral mean does not promote"),
        pytest.param("provisional", "++-", None, (), id="one negative effect bars promotion"),
        pytest.param(
            "provisional", "++s-", None, (), id="a misused negative effect bars promotion too"
        ),
        pytest.param("active", "++", None, (), id="an active memory is not promoted again"),
        pytest.param("inactive", "++", None, (), id="an inactive memory is not promoted"),
        pytest.param("provisional", "---", HARM, ids(1, 2, 3), id="harmful on three tasks"),
        pytest.param("provisional", "--0", HARM, ids(1, 2, 3), id="two of three are harmful"),
        pytest.param("provisional", "--", None, (), id="two tasks do not show harm"),
        pytest.param("provisional", "-00", None, (), id="one negative does not show harm"),
        pytest.param("provisional", "--+", None, (), id="one positive effect saves"),
        pytest.param(
            "provisional", "--s-", None, (), id="a misused effect does not trigger retirement"
        ),
        pytest.param("provisional", "-s--", None, (), id="a misused effect does not count as harm"),
        pytest.param(
            "provisional", "-s---", HARM, ids(1, 3, 4), id="harm counts around a misused effect"
        ),
        pytest.param(
            "provisional", "s+---", HARM, ids(2, 3, 4), id="a misused positive does not save"
        ),
        pytest.param("active", "++---", HARM, ids(3, 4, 5), id="active with a harmful streak"),
        pytest.param("provisional", "---s-", None, (), id="nor after harm that was never acted on"),
        pytest.param("active", "++--", None, (), id="a streak of two does not retire"),
        pytest.param("active", "--", None, (), id="two effects are no streak of three"),
        pytest.param("active", "++--0", None, (), id="a neutral effect ends the streak"),
        pytest.param("active", "++-0--", None, (), id="three negatives apart are no streak"),
        pytest.param("active", "++--s-", None, (), id="a misused effect does not end a streak"),
        pytest.param(
            "active", "++--s--", HARM, ids(3, 4, 6), id="a misused effect is no part of a streak"
        ),
        pytest.param("inactive", "---", None, (), id="an inactive memory is not retired again"),
        pytest.param(
            "provisional", "00000", INEFFECTIVE, ids(1, 2, 3, 4, 5), id="five changes, no effect"
        ),
        pytest.param("provisional", "0000", None, (), id="four changes are too few"),
        pytest.param("provisional", "00000-", None, (), id="one effect shows effectiveness"),
        pytest.param("active", "00000", None, (), id="an active memory is never ineffective"),
    ],
)
def test_each_rule_fires_exactly_on_its_conditions(
    state: ev.State,
    marks: str,
    expected: tuple[ev.State, ev.LifecycleRule] | None,
    evidence: tuple[str, ...],
) -> None:
    made = transition(state, effects(marks), epsilon=EPSILON)
    assert made == (Transition(*expected, evidence) if expected else None)


@pytest.mark.parametrize("state", ["provisional", "active"])
def test_a_failed_repair_deactivates_and_rests_on_the_harmful_effect(state: ev.State) -> None:
    made = transition(state, effects("0-"), epsilon=EPSILON, repair_failed=True)
    assert made == Transition("inactive", "failed repair", ids(2))


@pytest.mark.parametrize(
    ("state", "marks", "committed"),
    [
        pytest.param("provisional", "++", False, id="over promotion"),
        pytest.param("provisional", "---", False, id="over sustained harm while provisional"),
        pytest.param("active", "---", False, id="over sustained harm while active"),
        pytest.param("provisional", "00000", False, id="over ineffectiveness"),
        pytest.param("active", "-", True, id="over a new version"),
    ],
)
def test_a_failed_repair_beats_every_other_rule(
    state: ev.State, marks: str, committed: bool
) -> None:
    made = transition(
        state, effects(marks), epsilon=EPSILON, repair_failed=True, repair_committed=committed
    )
    assert made is not None
    assert made.rule == "failed repair"


def test_an_inactive_memory_whose_repair_fails_stays_as_it_is() -> None:
    assert transition("inactive", effects("-"), epsilon=EPSILON, repair_failed=True) is None


@pytest.mark.parametrize("state", ["active", "inactive"])
def test_a_committed_repair_makes_the_memory_provisional(state: ev.State) -> None:
    made = transition(state, effects("++---"), epsilon=EPSILON, repair_committed=True)
    assert made == Transition("provisional", "new version", ids(5))


def test_a_committed_repair_of_a_provisional_memory_is_no_change_of_state() -> None:
    made = transition("provisional", effects("---"), epsilon=EPSILON, repair_committed=True)
    assert made is None


@pytest.mark.parametrize(
    ("state", "marks", "attached", "revived"),
    [
        pytest.param("inactive", "---+", True, True, id="good again when attached"),
        pytest.param("inactive", "s+", True, True, id="good although an avoid condition matched"),
        pytest.param("inactive", "---0", True, False, id="neutral when attached"),
        pytest.param("inactive", "+-", True, False, id="harmful when attached"),
        pytest.param("inactive", "---+", False, False, id="good, but not by an attachment"),
        pytest.param("inactive", "", True, False, id="attached without a recorded effect"),
        pytest.param("provisional", "-+", True, False, id="never inactive"),
    ],
)
def test_only_a_positive_attachment_revives(
    state: ev.State, marks: str, attached: bool, revived: bool
) -> None:
    recorded = effects(marks)
    made = transition(state, recorded, epsilon=EPSILON, attached=attached)
    expected = Transition("provisional", "revival", (recorded[-1].event_id,)) if revived else None
    assert made == expected


def test_a_mean_of_exactly_the_tolerance_does_not_promote() -> None:
    at = (effect(1, "+", value=0.02), effect(2, "0", value=0.0))
    over = (effect(1, "+", value=0.021), effect(2, "0", value=0.0))
    assert transition("provisional", at, epsilon=EPSILON) is None
    assert transition("provisional", over, epsilon=EPSILON) is not None


def test_a_mean_of_exactly_the_tolerance_does_not_retire() -> None:
    at = (
        effect(1, "-", value=-0.02),
        effect(2, "-", value=-0.02),
        effect(3, "0", value=0.01),
    )
    over = (*at[:2], effect(3, "0", value=0.009))
    assert transition("provisional", at, epsilon=EPSILON) is None
    assert transition("provisional", over, epsilon=EPSILON) is not None


def test_binary_noise_in_the_mean_does_not_promote() -> None:
    assert (0.0 + 0.05 + 0.1) / 3 > 0.05
    noisy = tuple(effect(n, "+", value=value) for n, value in enumerate((0.0, 0.05, 0.1)))
    assert transition("provisional", noisy, epsilon=0.05) is None


def test_ineffectiveness_counts_only_changes_without_an_avoid_match() -> None:
    five = [effect(n, "0") for n in range(1, 5)]
    for idle in (effect(5, "0", changed=False), effect(5, "0", avoid=True)):
        assert transition("provisional", (*five, idle), epsilon=EPSILON) is None
        assert transition("provisional", (*five, idle, effect(6, "0")), epsilon=EPSILON)


def test_a_task_counts_once() -> None:
    twice = (effect(1, "+", task=1), effect(2, "+", task=1))
    assert transition("provisional", twice, epsilon=EPSILON) is None


def test_without_effects_nothing_happens() -> None:
    for state in STATES:
        assert transition(state, (), epsilon=EPSILON) is None


TABLE: set[tuple[ev.LifecycleRule, ev.State, ev.State]] = {
    ("failed repair", "provisional", "inactive"),
    ("failed repair", "active", "inactive"),
    ("new version", "provisional", "provisional"),
    ("new version", "active", "provisional"),
    ("new version", "inactive", "provisional"),
    ("promotion", "provisional", "active"),
    ("sustained harm", "provisional", "inactive"),
    ("sustained harm", "active", "inactive"),
    ("ineffectiveness", "provisional", "inactive"),
    ("revival", "inactive", "provisional"),
}


def test_the_rules_are_those_of_the_table_in_its_order() -> None:
    pairs = {(rule.name, before, rule.after) for rule in RULES for before in rule.before}
    assert pairs == TABLE
    assert [rule.name for rule in RULES] == [
        "failed repair",
        "new version",
        "promotion",
        "sustained harm",
        "sustained harm",
        "ineffectiveness",
        "revival",
    ]


@given(
    st.sampled_from(STATES),
    st.text(alphabet="+0-", max_size=8),
    st.integers(0, 255),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_transition_is_a_pair_of_the_table_and_rests_on_recorded_effects(
    state: ev.State, marks: str, scoped: int, failed: bool, committed: bool, attached: bool
) -> None:
    recorded = tuple(
        effect(n + 1, mark, label="SCOPE" if scoped >> n & 1 else "NONE")
        for n, mark in enumerate(marks)
    )
    made = transition(
        state,
        recorded,
        epsilon=EPSILON,
        repair_failed=failed,
        repair_committed=committed,
        attached=attached,
    )
    if made is not None:
        assert (made.rule, state, made.after) in TABLE
        assert made.after != state
        known = [each.event_id for each in recorded]
        assert [event for event in known if event in made.evidence] == list(made.evidence)
        if made.rule == "sustained harm":
            misused = {each.event_id for each in recorded if each.label == "SCOPE"}
            assert not misused & {*made.evidence, known[-1]}
