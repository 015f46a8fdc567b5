"""What the seven decisions are told: the pieces their facts share, and what of them is displayed.

A trajectory is displayed within a fixed number of characters, so a prompt stays readable for a
small model however long a run was. What is left out is marked, and only displayed steps have ids
that a decision may cite.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

STEP_LIMIT = 600
TRAJECTORY_LIMIT = 6000


@attrs.frozen
class Step:
    """One step of a trajectory: its id there, the team member who took it, what was said."""

    id: str
    role: str
    text: str


@attrs.frozen(kw_only=True)
class Listed:
    """A memory as it is shown to a decision that chooses among several."""

    memory: str
    body: str
    use_when: tuple[str, ...] = ()
    avoid_when: tuple[str, ...] = ()


def displayed(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the first and the last steps of a trajectory that fit in ``TRAJECTORY_LIMIT``.

    Steps are taken from both ends in turn, each counted at no more than ``STEP_LIMIT``
    characters; the gap, if any, lies between the two tuples.
    """
    head = 0
    tail = len(steps)
    room = TRAJECTORY_LIMIT
    from_head = True
    while head < tail:
        step = steps[head] if from_head else steps[tail - 1]
        room -= min(len(step.text), STEP_LIMIT)
        if room < 0:
            break
        if from_head:
            head += 1
        else:
            tail -= 1
        from_head = not from_head
    return tuple(steps[:head]), tuple(steps[tail:])


def evidence_ids(label: str, steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the ids of the displayed steps as a decision cites them: ``label:id``."""
    head, tail = displayed(steps)
    return tuple(f"{label}:{step.id}" for step in head + tail)
