"""The change of state that is due after an outcome (A.1)."""

from __future__ import annotations

from ...eventlog import events as ev
from ..lifecycle import transition
from .scripts import Script, exactly
from .walk import Walk, memory_of


def change(
    walk: Walk,
    name: str,
    cause: str,
    *,
    parent: int | None = None,
    repair_failed: bool = False,
    attached: bool = False,
) -> Script[None]:
    """What the first rule that holds now demands, or nothing.

    Args:
        walk: at the event of the outcome.
        name: the memory.
        cause: the id of that event.
        parent: the version whose record counts, when a repair was just committed.
        repair_failed: a reuse-triggered repair just failed.
        attached: the newest effect came from an attachment.
    """
    memory = memory_of(walk, name)
    demanded = transition(
        memory.state,
        walk.now.evidence.of(name, memory.version if parent is None else parent),
        epsilon=walk.settings.epsilon,
        repair_failed=repair_failed,
        repair_committed=parent is not None,
        attached=attached,
    )
    if demanded is not None:
        changed = ev.StateChanged(
            memory=name,
            version=memory.version,
            before=memory.state,
            after=demanded.after,
            rule=demanded.rule,
            evidence=demanded.evidence,
        )
        yield from exactly(changed, cause)
