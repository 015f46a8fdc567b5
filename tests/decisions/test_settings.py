"""The parameters of Table 3 and their ranges."""

from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest

from discernmem.decisions.plan import worst_case
from discernmem.decisions.settings import ABLATIONS, DECISION_VERSION, Settings
from discernmem.eventlog.codec import canonical
from discernmem.replayers.config import parse_config


def test_the_defaults_are_the_reference_configuration() -> None:
    assert attrs.asdict(Settings()) == {
        "epsilon": 0.01,
        "seed": 42,
        "theta": 0.25,
        "k_ret": 3,
        "k_inj": 1,
        "k_id": 5,
        "n_plus": 2,
        "candidates": 3,
        "rounds": 3,
        "n1": 2,
        "n2": 1,
        "related_tries": 10,
        "attempts": 3,
        "without": (),
    }


def test_the_rules_carry_a_version() -> None:
    assert DECISION_VERSION == "1"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilon", -1, "epsilon must be >= 0 (got -1)"),
        ("epsilon", float("nan"), "epsilon must be finite (got nan)"),
        ("epsilon", float("inf"), "epsilon must be finite (got inf)"),
        ("epsilon", "0.01", "epsilon must be a number (got '0.01')"),
        ("epsilon", True, "epsilon must be a number (got True)"),
        ("theta", 1.5, "theta must be in [-1, 1] (got 1.5)"),
        ("theta", -1.5, "theta must be in [-1, 1] (got -1.5)"),
        ("seed", -1, "seed must be >= 0 (got -1)"),
        ("seed", 1.0, "seed must be a whole number (got 1.0)"),
        ("k_ret", 0, "k_ret must be >= 1 (got 0)"),
        ("k_inj", -1, "k_inj must be >= 0 (got -1)"),
        ("k_id", -1, "k_id must be >= 0 (got -1)"),
        ("n_plus", 0, "n_plus must be >= 1 (got 0)"),
        ("candidates", -1, "candidates must be >= 0 (got -1)"),
        ("rounds", -1, "rounds must be >= 0 (got -1)"),
        ("n1", -1, "n1 must be >= 0 (got -1)"),
        ("n2", True, "n2 must be a whole number (got True)"),
        ("attempts", -1, "attempts must be >= 0 (got -1)"),
        (
            "without",
            "meta-memory",
            "without must be a list of meta-memory, repair-validation (got 'meta-memory')",
        ),
        (
            "without",
            ["memory"],
            "without must be a list of meta-memory, repair-validation (got ['memory'])",
        ),
        ("without", [1], "without must be a list of meta-memory, repair-validation (got [1])"),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_line(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        Settings(**{name: value})
    assert str(refused.value) == message


@pytest.mark.parametrize("name", ["epsilon", "k_inj", "k_id", "candidates", "rounds", "n1", "n2"])
def test_zero_turns_a_part_off_and_is_allowed(name: str) -> None:
    values: dict[str, Any] = {name: 0}
    assert attrs.asdict(Settings(**values))[name] == 0


def test_a_whole_tolerance_and_the_same_tolerance_as_a_fraction_are_one_configuration() -> None:
    assert repr(Settings(epsilon=0, theta=1)) == repr(Settings(epsilon=0.0, theta=1.0))


def test_what_is_left_out_is_recorded_once_and_in_one_order() -> None:
    named = Settings(without=["repair-validation", "meta-memory", "repair-validation"])
    assert named.without == ABLATIONS
    assert named == Settings(without=ABLATIONS)


def test_a_configuration_of_before_leaves_nothing_out_and_one_of_now_says_so() -> None:
    assert parse_config({"method": {"seed": 1}}, "old").method.without == ()
    table = orjson.loads(canonical(parse_config({}, "new").table()))
    assert table["method"]["without"] == []
    assert parse_config(table, "again") == parse_config({}, "new")


@pytest.mark.parametrize(
    ("without", "meta_memory", "validation"),
    [((), True, True), (("meta-memory",), False, True), (("repair-validation",), True, False)],
)
def test_each_ablation_turns_one_function_off(
    without: tuple[str, ...], meta_memory: bool, validation: bool
) -> None:
    settings = Settings(without=without)
    assert (settings.uses_meta_memory, settings.validates_repairs) == (meta_memory, validation)


def test_a_plan_without_repair_validation_counts_no_replay_of_a_candidate() -> None:
    one = Settings(k_inj=1, n2=1)
    # 1 scored, 1 without memory, and for the one role 1 with its memory or 2 for calibration.
    assert worst_case(attrs.evolve(one, without=("repair-validation",)), 1) == 5
    assert worst_case(attrs.evolve(one, without=("meta-memory",)), 1) == worst_case(one, 1)
