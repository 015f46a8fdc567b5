"""One episode on one planning problem, scored as AgentBoard scores it.

Progress is the running maximum over the episode of satisfied goals / goals. It starts at 0 even
where goals hold from the start, and is renewed after each applied move, so such a goal counts once
a move kept it. Checks and refusals take a step and change nothing.
"""

from __future__ import annotations

import attrs

from ..base import Outcome, View
from .actions import ActionReader, Check, Refusal
from .strips import Domain, Problem, ground
from .text import Words, valid_actions

RULES = 1
"""Increased whenever the same actions could earn another score or be answered by another text."""


@attrs.frozen(kw_only=True)
class Aids:
    """What helps the team each step; the reference driver's two aids and constrained choices."""

    valid_actions: bool
    unmet_goals: bool
    constrain_actions: bool


class PddlEnvironment:
    """An `Environment` on one problem with a budget of ``steps``."""

    def __init__(
        self, domain: Domain, problem: Problem, words: Words, *, steps: int, aids: Aids
    ) -> None:
        self._game = ground(domain, problem)
        self._reader = ActionReader(domain, problem, words, self._game)
        self._words = words
        self._aids = aids
        self._budget = steps
        self._state = self._game.initial
        self._observation = words.sentences(self._game.holding(self._state))
        self._best = 0
        self._applied = 0
        self._checks = 0
        self._refused = 0

    def view(self) -> View:
        """The last observation (at first the whole state), the aids, the choices."""
        aids = []
        wanted = self._aids.valid_actions or self._aids.constrain_actions
        moves = self._game.applicable(self._state) if wanted else []
        if self._aids.valid_actions:
            aids.append(valid_actions(moves))
        if self._aids.unmet_goals:
            goals = self._game.goals.items()
            unmet = self._words.sentences(goal for goal, mask in goals if not mask & self._state)
            aids.append(f"Goals not met now: {unmet or 'none.'}")
        choices = tuple(move.text for move in moves) if self._aids.constrain_actions else ()
        return View(observation=self._observation, aids="\n".join(aids), choices=choices)

    def step(self, action: str) -> str:
        """Spend a step on a move, a check or a refusal, and say what it caused.

        Raises:
            ValueError: the episode is over.
        """
        if self.done:
            raise ValueError("the episode is over")
        read = self._reader.read(action, self._state)
        if isinstance(read, Refusal):
            self._refused += 1
            self._observation = f"Refused: {read.reason}."
        elif isinstance(read, Check):
            self._checks += 1
            self._observation = valid_actions(self._game.applicable(self._state))
        else:
            self._applied += 1
            before, self._state = self._state, read.after(self._state)
            self._best = max(self._best, self._game.satisfied(self._state))
            news = self._state if self._words.full else self._state & ~before
            self._observation = self._words.sentences(self._game.holding(news))
            # An empty text would look as if the environment had not answered.
            self._observation = self._observation or "Nothing new became true."
        return self._observation

    @property
    def done(self) -> bool:
        """Whether all goals held after a move, or the steps are used up."""
        return self._best == len(self._game.goals) or self._steps >= self._budget

    def outcome(self) -> Outcome:
        """Progress so far; metrics: goals met at best, steps by kind, and ``success`` 0 or 1."""
        goals = len(self._game.goals)
        return Outcome(
            score=self._best / goals,
            metrics={
                "success": float(self._best == goals),
                "goals": float(goals),
                "goals_met": float(self._best),
                "steps": float(self._steps),
                "applied": float(self._applied),
                "checks": float(self._checks),
                "refused": float(self._refused),
            },
        )

    @property
    def _steps(self) -> int:
        return self._applied + self._checks + self._refused
