"""A run in which nothing is reused asks as often after a stop as it would have without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from lively import lively_world, quick_folder, rich_seed
from processes import story

from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.models.base import Card, Model, ModelCall, Reply
from discernmem.replayers.session import resume, start
from discernmem.replayers.world import World

TASKS = 5


@attrs.define
class Failing:
    """A model whose server goes down after some answers."""

    model: Model
    answers: int

    @property
    def card(self) -> Card:
        return self.model.card

    def complete(self, call: ModelCall) -> Reply:
        if not self.answers:
            raise Infrastructure("the server is down")
        self.answers -= 1
        return self.model.complete(call)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def test_stopped_at_any_answer_a_run_without_reuse_goes_on_as_if_it_had_not_been(
    folder: Path,
) -> None:
    """Equal executions of a task share no reply, whichever of them were recorded by the stop."""
    undisturbed = folder / "calm.db"
    start(undisturbed, world_in(folder))
    events = story(undisturbed)
    answers = sum(event[4] == "ModelReplied" for event in events)
    assert answers > 60
    for number in range(1, answers, 3):
        log = folder / f"{number}.db"
        world = world_in(folder)
        with pytest.raises(Infrastructure, match="down"):
            start(log, attrs.evolve(world, model=Failing(world.model, number)))
        resume(log, open_=lambda _, world=world: world)
        assert story(log) == events, f"stopped after answer {number}"


def world_in(folder: Path) -> World:
    return lively_world(folder, rich_seed(), tasks=TASKS, reuse=False)
