"""From what a jail reported, or failed to report, to a verdict in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from .inside.wire import ERRORS
from .reading import UNUSED, foreign_modules
from .verdicts import Grade


def ended(counted: Grade, reason: str) -> Grade:
    """The verdict for a program that ended before its time."""
    return evolve(counted, verdict="fail", reason=reason)


def not_loaded(blank: Grade, solution: str, trouble: Mapping[str, Any]) -> Grade:
    """The verdict for a solution that cannot be imported."""
    if trouble["missing"] in foreign_modules(solution):
        return _missing(blank, str(trouble["missing"]))
    kind = str(trouble["error"])
    return evolve(blank, verdict="fail", reason=_named(kind, "in the solution"))


def judged(blank: Grade, solution: str, report: Mapping[str, Any]) -> Grade:
    """The verdict for a whole report of the tests."""
    tests = [(str(outcome), str(kind)) for outcome, kind in report["tests"]]
    count = Counter(outcome for outcome, _ in tests)
    counted = evolve(
        blank,
        passed=count["passed"],
        failed=count["failed"],
        errors=count["error"],
        collected=int(report["collected"]),
    )
    if report["trouble"] is not None:
        return _not_collected(counted, solution, report["trouble"])
    if not counted.collected:
        return evolve(counted, verdict="error", reason="zero tests collected")
    judged = counted.collected - count["skipped"]
    if counted.passed == judged > 0 and not report["used"]:
        return evolve(counted, verdict="error", reason=UNUSED)
    if counted.passed == judged > 0:
        return evolve(counted, verdict="pass", reason=f"all of {judged} tests passed")
    if not judged:
        return evolve(counted, verdict="error", reason="every test was skipped")
    kinds = Counter(kind for outcome, kind in tests if outcome in ("failed", "error"))
    if not kinds:
        return evolve(counted, verdict="fail", reason="the tests were broken off")
    if "ModuleNotFoundError" in kinds and (missing := foreign_modules(solution)):
        return _missing(counted, missing[0])
    if "Fixture" in kinds:
        reason = "the tests need a fixture the sandbox lacks"
        return evolve(counted, verdict="error", reason=reason)
    kind, number = max(kinds.items(), key=lambda pair: (pair[1], pair[0]))
    return evolve(counted, verdict="fail", reason=_named(kind, f"in {number} of {judged} tests"))


def _not_collected(counted: Grade, solution: str, trouble: Mapping[str, Any]) -> Grade:
    kind, module = str(trouble["kind"]), trouble["module"]
    if module == "solution":
        reason = "the solution does not define what the tests import"
        return evolve(counted, verdict="fail", reason=reason)
    if trouble["solution"]:
        return evolve(counted, verdict="fail", reason=_named(kind, "in the solution"))
    if module is not None and module in foreign_modules(solution):
        return _missing(counted, str(module))
    if module is not None:
        return evolve(counted, verdict="error", reason="the tests need a module the sandbox lacks")
    what = f"{kind} while collecting" if kind in ERRORS else "pytest refuses"
    return evolve(counted, verdict="error", reason=f"{what} the tests")


def _missing(counted: Grade, module: str) -> Grade:
    reason = f"the solution needs the module {module[:60]}, which the sandbox lacks"
    return evolve(counted, verdict="error", reason=reason)


def _named(kind: str, where: str) -> str:
    """A reason by the kind of an exception; any other word may be the program's own."""
    if kind == "MemoryError":
        return f"memory ({where})"
    if kind == "Failed":
        return f"an expected exception missing, or pytest.fail, {where}"
    return f"{kind if kind in ERRORS else 'another exception'} {where}"
