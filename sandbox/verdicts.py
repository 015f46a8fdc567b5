"""How a grading ended, in words."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Oracle = Literal["outside", "inside"]
Verdict = Literal["pass", "fail", "error"]


@frozen
class Grade:
    """The result of the hidden tests for one solution.

    Attributes:
        passed: Tests that passed.
        failed: Tests whose call failed.
        errors: Tests whose setup or teardown failed.
        collected: All tests found; zero where the solution or the tests could not be loaded.
        oracle: Where the tests ran: `outside` the program's jail, where it cannot touch them, or
            `inside` it, where arguments do not marshal and a hostile program may forge.
        isolation: The level in force, such as `bubblewrap+seccomp+rlimits`, or `none`.
        verdict: `pass` only if every test that was not skipped passed and there was one;
            `error` if the tests could not judge (none found, a module is missing).
        reason: One line; a kind of trouble, never text of the tests nor an expected value.
    """

    passed: int
    failed: int
    errors: int
    collected: int
    oracle: Oracle
    isolation: str
    verdict: Verdict
    reason: str
