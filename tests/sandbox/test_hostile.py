"""No program gets out of its jail or to a verdict it does not deserve, whoever runs it."""

import functools
import os
from typing import Any

import pytest
from hostile import CONTROLS, MACHINE, PROGRAMS, VERDICT, Program
from private_world import campaign

# Who runs the jail makes a difference to the machine only, so root tries just those again.
_AS_ROOT = (CONTROLS[0], *MACHINE)
_WHO = ["user", "root"] if os.geteuid() == 0 else ["user"]
_CASES = [
    pytest.param(who, program, id=f"{who}-{program.name}")
    for who in _WHO
    for program in (PROGRAMS if who == "user" else _AS_ROOT)
]


@functools.cache
def results(who: str) -> dict[str, dict[str, Any]]:
    return campaign(PROGRAMS if who == "user" else _AS_ROOT, user=who == "user")


def test_the_table_has_many_ways_out_and_no_name_twice() -> None:
    assert len(MACHINE) + len(VERDICT) >= 28
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.parametrize(("who", "program"), _CASES)
def test_the_verdict_is_right(who: str, program: Program) -> None:
    result = results(who)[program.name]
    assert result["verdict"] == program.verdict, result
    assert program.reason in result["reason"]
    assert result["oracle"] == program.oracle
    assert result["isolation"].startswith("bubblewrap+")


@pytest.mark.parametrize("who", _WHO)
def test_nothing_outside_the_jails_was_reached_or_left(who: str) -> None:
    assert results(who)["harm"]["seen"] == []


@pytest.mark.parametrize("who", _WHO)
def test_no_reason_tells_what_the_tests_say(who: str) -> None:
    reasons = [result["reason"] for name, result in results(who).items() if name != "harm"]
    assert not [reason for reason in reasons if "\n" in reason or "42" in reason or "-8" in reason]


def test_an_ordinary_user_may_do_without_isolation_and_is_told_so() -> None:
    right, wrong = (results("user")[f"{name}, without isolation"] for name in ("right", "wrong"))
    assert (right["verdict"], right["isolation"], right["oracle"]) == ("pass", "none", "outside")
    assert (wrong["verdict"], wrong["isolation"]) == ("fail", "none")
