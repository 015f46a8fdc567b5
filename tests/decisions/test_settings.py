"""The parameters of Table 3 and their ranges."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from discernmem.decisions.settings import DECISION_VERSION, Settings


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
