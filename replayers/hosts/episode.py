"""One episode as it is being played: the environment, what happened so far, and the steps."""

from __future__ import annotations

from collections.abc import Mapping

from ...projections.trajectories import Step
from ..benchmarks.base import Benchmark, Task
from .base import Played, Spoken


class Episode:
    """What every host keeps while it plays a task.

    Attributes:
        task: the task.
        initial: the first observation, empty where there is none.
        history: the actions so far, each with the observation it caused.
        view: what the team sees of the environment now.
    """

    def __init__(self, benchmark: Benchmark, task: Task) -> None:
        self.task = task
        self._environment = benchmark.environment(task)
        self.view = self._environment.view()
        self.initial = self.view.observation
        self.history: list[tuple[str, str]] = []
        self._steps: list[Step] = []
        self._calls = 0

    @property
    def done(self) -> bool:
        """Whether the episode ended."""
        return self._environment.done

    def message(self, role: str, spoken: Spoken) -> None:
        """Note what a role replied."""
        self._calls += 1
        self._note("message", role, spoken.text, spoken.event_id)

    def information(self, found: Spoken) -> None:
        """Note what a search gave."""
        self._note("information", "search", found.text, found.event_id)

    def act(self, role: str, action: str) -> None:
        """Hand the team's action, the reply of ``role``, to the environment."""
        self._note("action", role, action)
        observation = self._environment.step(action)
        if observation:
            self._note("observation", "environment", observation)
        self.history.append((action, observation))
        self.view = self._environment.view()

    def played(self, contexts: Mapping[str, str]) -> Played:
        """What the episode produced, with the pre-action contexts of its roles."""
        return Played(
            steps=tuple(self._steps),
            contexts=contexts,
            outcome=self._environment.outcome(),
            environment_steps=len(self.history),
            model_calls=self._calls,
        )

    def _note(self, kind: str, role: str, text: str, reply: str = "") -> None:
        number = len(self._steps) + 1
        self._steps.append(Step(id=f"s{number}", kind=kind, role=role, text=text, reply=reply))
