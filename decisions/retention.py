"""The historical tasks a repair or a new memory is tried on (Eq. 8, A.2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ..eventlog import events as ev
from ..projections.evidence import Effect
from ..projections.history import TaskRecord
from .retrieval import SIMILARITY_DECIMALS

MAX_SCORE: Final = 1.0


def pool(effects: Iterable[Effect], capabilities: Iterable[ev.Capability]) -> tuple[str, ...]:
    """B_i: tasks a memory is known to help on, and those that validated its corrections.

    Args:
        effects: the memory's effects, of every version that is to count.
        capabilities: its capability record P.

    Returns:
        Task ids, each once, in the order they were met.
    """
    helped = (effect.task for effect in effects if effect.qualifies)
    validated = (task for capability in capabilities for task in capability.tasks)
    return tuple(dict.fromkeys([*helped, *validated]))


def draw_retention(
    pool_tasks: Iterable[str],
    *,
    before: Sequence[TaskRecord],
    exclude: Collection[str],
    n1: int,
    seed: int,
    memory: str,
    trigger: str,
) -> tuple[str, ...]:
    """H1: a seeded sample of at most ``n1`` tasks of the pool (Eq. 8), in task order.

    Each task's place in the draw is the SHA-256 of seed, memory, trigger and task. A random
    generator would draw otherwise when a Python version changes its algorithm or the pool is
    listed in another order; a hash depends on nothing but what it names.

    Args:
        pool_tasks: B_i.
        before: the tasks before the trigger.
        exclude: tasks that may not be drawn: the trigger and the memory's source.
        n1: size of the sample.
        seed: the run's seed.
        memory: id of the memory under repair.
        trigger: id of the task that started the repair.
    """
    members = frozenset(pool_tasks)
    drawable = [task for task in before if task.id in members and task.id not in exclude]

    def place(task: TaskRecord) -> str:
        named = json.dumps([seed, memory, trigger, task.id])
        return hashlib.sha256(named.encode()).hexdigest()

    drawn = sorted(drawable, key=place)[:n1]
    return tuple(task.id for task in sorted(drawn, key=lambda task: task.index))


def rank_related(
    similarities: Mapping[str, float],
    *,
    before: Sequence[TaskRecord],
    exclude: Collection[str],
    pool: Collection[str] = (),
) -> list[str]:
    """Earlier tasks outside the pool, nearest first; ties go to the earlier task (Eq. 8, A.2).

    A repair takes the first ``n2`` that are not `saturated`; a calibration, whose pool is empty,
    the first ``n2``.

    Args:
        similarities: cosine of every rankable task with the query.
        before: the tasks before the trigger.
        exclude: tasks that may not be used: the trigger and the memory's source.
        pool: B_i.

    Raises:
        KeyError: a rankable task has no similarity.
    """
    rankable = [task for task in before if task.id not in exclude and task.id not in pool]
    return [
        task.id
        for task in sorted(
            rankable,
            key=lambda task: (-round(similarities[task.id], SIMILARITY_DECIMALS), task.index),
        )
    ]


def saturated(parent: float, none: float) -> bool:
    """Whether a related task can show nothing: parent and no memory both score the maximum."""
    return parent >= MAX_SCORE and none >= MAX_SCORE
