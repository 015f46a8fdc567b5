"""Trajectories and memories as the decisions read them."""

from __future__ import annotations

from collections.abc import Iterable

from ..decisions import llm
from ..projections.store import Memory
from ..projections.trajectories import Step
from .executions import Execution


def shown(execution: Execution) -> tuple[llm.Step, ...]:
    """The steps of an execution with the ids a decision may cite."""
    return show(execution.steps)


def show(steps: Iterable[Step]) -> tuple[llm.Step, ...]:
    """Messages and observations; an action repeats the message that carried it."""
    return tuple(llm.Step(step.id, step.role, step.text) for step in steps if step.kind != "action")


def listed(memory: Memory) -> llm.Listed:
    """A memory as a decision that chooses among several sees it."""
    return llm.Listed(
        memory=memory.id,
        body=memory.body,
        use_when=memory.use_texts,
        avoid_when=memory.avoid_texts,
    )
