"""A benchmark of one's own: find a hidden number, told after each guess where it lies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.base import Benchmark, Environment, Outcome, Task, View


class GuessBenchmark(Benchmark):
    """Numbers from 1 to ``highest``, each to be found with ``guesses`` guesses."""

    name = "guess"

    def __init__(self, tasks: int = 10, highest: int = 20, guesses: int = 5) -> None:
        if min(tasks, guesses) < 1 or highest < 2:
            raise BadInput("[benchmark] guess: take tasks, guesses >= 1 and highest >= 2")
        self._count, self._highest, self._guesses = tasks, highest, guesses

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that can change a text or a score; ``rules`` is raised when this file does."""
        return {"highest": self._highest, "guesses": self._guesses, "rules": 1}

    def tasks(self) -> tuple[Task, ...]:
        """The stream; the hidden number is in ``data``, which no prompt ever holds."""
        text = (
            f"A number from 1 to {self._highest} is hidden. Find it with at most "
            f"{self._guesses} guesses. Reply with one number."
        )
        return tuple(
            Task(
                id=f"g{number:03}",
                domain="numbers",
                text=f"{text} This is number {number} of the day.",
                data={"hidden": number * 37 % self._highest + 1},
            )
            for number in range(1, self._count + 1)
        )

    def environment(self, task: Task) -> Environment:
        """A fresh episode."""
        return _Game(task.data["hidden"], self._highest, self._guesses)


class _Game(Environment):
    """One hidden number; the score is 1 when it was found, else how near the best guess was."""

    def __init__(self, hidden: int, highest: int, guesses: int) -> None:
        self._hidden, self._highest, self._left = hidden, highest, guesses
        self._nearest = highest

    def view(self) -> View:
        numbers = tuple(str(number) for number in range(1, self._highest + 1))
        return View(aids=f"Guesses left: {self._left}", choices=numbers)

    def step(self, action: str) -> str:
        self._left -= 1
        said = re.findall(r"\d+", action)
        if len(said) != 1:
            return "That is not one number."
        guess = int(said[0])
        self._nearest = min(self._nearest, abs(guess - self._hidden))
        if guess == self._hidden:
            return f"{guess} is right."
        return f"It is {'higher' if guess < self._hidden else 'lower'} than {guess}."

    @property
    def done(self) -> bool:
        return self._nearest == 0 or self._left == 0

    def outcome(self) -> Outcome:
        near = 1 - self._nearest / self._highest
        return Outcome(score=near, metrics={"found": float(self._nearest == 0)})
