"""Sweeps over lively runs, also in processes of their own, to be killed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import attrs
from lively import LivelyModel, lively_world

from discernmem.replayers.config import Config
from discernmem.replayers.sweeping import Axis, Planned, Sweep, plan
from discernmem.replayers.world import World

SEED = 4
TASKS = 5
BUDGET = Axis("method.k_inj", (0, 1, 2))


def opener(stream: Path, model: LivelyModel | None = None) -> Callable[[Config], World]:
    """Opens the lively world of a configuration."""

    def open_(config: Config) -> World:
        world = lively_world(stream, SEED, tasks=TASKS)
        tasks = world.tasks[: config.tasks]
        return attrs.evolve(world, config=config, model=model or LivelyModel(SEED), tasks=tasks)

    return open_


def planned(stream: Path, *axes: Axis, reuse: bool = True, **method: Any) -> tuple[Planned, ...]:
    """The runs of a sweep over the tasks in a folder."""
    table = lively_world(stream, SEED, tasks=TASKS, method=method, reuse=reuse).config.table()
    return plan(table, axes, "test")


def sweep(
    folder: Path, runs: tuple[Planned, ...], stream: Path, model: LivelyModel | None = None
) -> list[bool]:
    """Make all runs of a sweep; says of each whether there was anything to do."""
    with Sweep(folder, runs, open_=opener(stream, model)) as going:
        return [going.go_on() for _ in runs]


def in_process(folder: Path, stream: Path) -> ForkServerProcess:
    """The sweep of `BUDGET` in a process, just started."""
    process = multiprocessing.get_context("forkserver").Process(
        target=_sweep_budget, args=(folder, stream)
    )
    process.start()
    return process


def _sweep_budget(folder: Path, stream: Path) -> None:
    sweep(folder, planned(stream, BUDGET), stream)
