"""One question: the first action holds the answer, and the episode is over."""

from __future__ import annotations

from ..answers import contains, match, words
from ..base import Outcome, Task, View
from ..reading import extract

ACCURACIES = ("match", "contains")


class QaEnvironment:
    """One question being answered.

    Args:
        task: its ``data`` hold ``aliases``, ``names`` and ``limit``.
        accuracy: the metric that is the score.
    """

    def __init__(self, task: Task, accuracy: str) -> None:
        self._data = task.data
        self._accuracy = accuracy
        self._action: str | None = None

    def view(self) -> View:
        """Nothing beyond the task's own text."""
        return View()

    @property
    def done(self) -> bool:
        """Whether an answer was given."""
        return self._action is not None

    def step(self, action: str) -> str:
        """Take the answer; the observation tells its length, never whether it was right.

        Raises:
            RuntimeError: an answer was given already.
        """
        if self._action is not None:
            raise RuntimeError("a question takes one answer; it was given already")
        self._action = action
        length, limit = len(words(extract(action))), self._data["limit"]
        if length > limit:
            return f"The answer has {length} words; more than {limit} are not accepted."
        return "The answer was taken."

    def outcome(self) -> Outcome:
        """The score, and as metrics what it is made of; all 0 before an answer.

        ``match`` and ``contains`` are the two accuracies, each 0 or 1; ``words`` is the length of
        the answer; ``too_long`` and ``answered`` (it is not empty) are 0 or 1.
        """
        action = self._action or ""
        answer = extract(action)
        length = len(words(answer))
        too_long = length > self._data["limit"]
        metrics = {
            "match": float(not too_long and match(answer, self._data["names"])),
            "contains": float(contains(answer, self._data["aliases"])),
            "words": float(length),
            "too_long": float(too_long),
            "answered": float(bool(answer)),
        }
        return Outcome(score=metrics[self._accuracy], metrics=metrics)
