"""One KodCode task: the first action holds the program, and the episode is over.

What a team can read afterwards tells whether a program was found, and nothing of the hidden tests:
neither how many there are, nor which passed, nor what they said.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from ....sandbox import Grade
from ..base import Outcome, Task, View
from .extract import program

NO_CODE = "no code"

Judge = Callable[[str, str], Grade]
"""Grades a solution by a test module; raises `Infrastructure` where the sandbox failed."""


class KodCodeEnvironment:
    """One problem, judged once."""

    def __init__(self, task: Task, judge: Judge) -> None:
        self._data = task.data
        self._judge = judge
        self._outcome: Outcome | None = None

    def view(self) -> View:
        """Nothing beyond the task's own text."""
        return View()

    @property
    def done(self) -> bool:
        """Whether a solution was given."""
        return self._outcome is not None

    def step(self, action: str) -> str:
        """Take the program out of the action and grade it.

        Raises:
            RuntimeError: a solution was given already.
            Infrastructure: the sandbox failed; nothing was judged.
        """
        if self._outcome is not None:
            raise RuntimeError("a KodCode task takes one solution; it was given already")
        code = program(action, self._data["names"])
        if code is None:
            self._outcome = _unjudged("fail", NO_CODE)
            return "No Python code block was found."
        if self._data["defect"]:
            self._outcome = _unjudged("error", self._data["defect"])
        else:
            self._outcome = _judged(self._judge(code, self._data["test"]))
        return "The solution was taken."

    def outcome(self) -> Outcome:
        """1 if all hidden tests passed, else 0; the share that passed is a metric beside it."""
        return self._outcome or _unjudged("fail", "no solution yet")


def _unjudged(verdict: str, reason: str) -> Outcome:
    return Outcome(
        score=0.0,
        metrics={"tests": 0.0, "passed": 0.0, "fraction": 0.0},
        grading={"verdict": verdict, "reason": reason},
    )


def _judged(grade: Grade) -> Outcome:
    return Outcome(
        score=float(grade.verdict == "pass"),
        metrics={
            "tests": float(grade.collected),
            "passed": float(grade.passed),
            "fraction": grade.passed / grade.collected if grade.collected else 0.0,
        },
        grading={
            name: value
            for name, value in attrs.asdict(grade).items()
            if name in ("oracle", "isolation", "verdict", "reason")
        },
    )
