"""A run by the command line whose model is a lively one behind an address of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from endpoint import Endpoint, Response, scripted
from lively import LivelyModel, lively_world
from terminals import PATIENCE

SEED = 4
TASKS = 4


@attrs.define
class StandIn:
    """The options of a run, and what happens when its model is asked.

    ``asked`` counts the questions of the run, probes left out; ``before`` is called with their
    number before each is answered.
    """

    folder: Path
    url: str = ""
    asked: int = 0
    before: Callable[[int], None] = lambda _: None
    model: LivelyModel = attrs.field(factory=lambda: LivelyModel(SEED))

    @property
    def log(self) -> Path:
        return self.folder / "run.db"

    @property
    def options(self) -> list[str]:
        return [
            *("--benchmark", "reading"),
            *("--set", f"benchmark.source={self.folder / 'stream.jsonl'}"),
            *("--model", f"{self.url}#m", "--theta", "-1", "--rounds", "1", "--candidates", "2"),
        ]

    @property
    def run(self) -> list[str]:
        return ["run", str(self.log), *self.options]

    def hold(self, question: int) -> threading.Event:
        """Let the answer to a question wait until the event is set that this returns."""
        released = threading.Event()

        def held(asked: int) -> None:
            if asked == question:
                assert released.wait(PATIENCE)

        self.before = held
        return released

    def answer(self, body: dict[str, Any]) -> Response:
        if body["messages"][0]["role"] == "system":
            self.asked += 1
            self.before(self.asked)
        return scripted(self.model)(body)


@contextmanager
def standing_in(folder: Path, tasks: int = TASKS) -> Iterator[StandIn]:
    """A model that is asked over the wire, and a stream of tasks in ``folder``."""
    lively_world(folder, SEED, tasks=tasks)
    stand_in = StandIn(folder)
    with Endpoint(answer=stand_in.answer) as endpoint:
        stand_in.url = endpoint.url
        yield stand_in
