"""What follows from a person's decision about a memory, and when it cannot be carried out.

A person may do what no rule does (withdraw a condition, edit a body without a repair); nothing is
lost by it: the decision is an event with its reason, and its consequences are events as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..eventlog import events as ev
from ..projections.store import Memory
from .boundary import additions, key_of

ADDS: Final[dict[ev.OverrideAction, ev.ConditionKind]] = {
    "add-avoid": "avoid_when",
    "add-use": "use_when",
}
"""The actions that add a condition, and its kind."""


TEXT_LIMIT: Final = 2000
"""Characters a person's text may have: rules go into prompts whole, and beside others."""


def refusal(
    memory: Memory, action: ev.OverrideAction, text: str = "", kind: ev.ConditionKind | None = None
) -> str:
    """Why a decision cannot be carried out on a memory as it stands; empty if it can."""
    name = memory.id
    if action in ("edit", "add-avoid", "add-use", "withdraw-condition") and not text.strip():
        return f"{action} needs a text"
    if len(text) > TEXT_LIMIT:
        return f"the text has {len(text)} characters, a prompt has room for {TEXT_LIMIT}"
    if action == "retire" and memory.state == "inactive":
        return f"{name} is inactive already"
    if action == "revive" and memory.state != "inactive":
        return f"{name} is {memory.state}, not inactive"
    if action == "edit" and text.split() == memory.body.split():
        return f"{name} says that already"
    if action in ADDS and not additions(conditions(memory, ADDS[action]), [text]):
        return f"{name} has that condition already"
    if action == "withdraw-condition":
        held = [each for each, _ in _found(memory, text, kind)]
        if not held:
            return f"{name} has no such condition"
        if len(held) > 1:
            return f"{name} has it as use_when and as avoid_when: say which"
    return ""


def resolved(
    memory: Memory, action: ev.OverrideAction, text: str, kind: ev.ConditionKind | None = None
) -> tuple[str, ev.ConditionKind | None]:
    """The text and kind of condition to record for a decision that is not refused."""
    if action == "withdraw-condition":
        ((found, written),) = _found(memory, text, kind)
        return written, found
    if action in ADDS:
        return additions((), [text])[0], ADDS[action]
    return text.strip(), None


def conditions(memory: Memory, kind: ev.ConditionKind) -> tuple[str, ...]:
    """The conditions of one kind as plain texts."""
    return memory.use_texts if kind == "use_when" else memory.avoid_texts


def _found(
    memory: Memory, text: str, kind: ev.ConditionKind | None
) -> list[tuple[ev.ConditionKind, str]]:
    """The conditions that say ``text``, as they are written."""
    kinds: tuple[ev.ConditionKind, ...] = (kind,) if kind else ("use_when", "avoid_when")
    return [
        (each, written)
        for each in kinds
        for written in conditions(memory, each)
        if key_of(written) == key_of(text)
    ]


def consequences(memory: Memory, override: ev.MemoryOverridden, cause: str) -> Sequence[ev.Event]:
    """The events a decision leads to.

    Args:
        memory: as it stands.
        override: a decision that is not refused.
        cause: the id of its event.
    """
    name, version = memory.id, memory.version
    match override.action:
        case "retire":
            return _becomes(memory, version, "inactive", cause)
        case "revive":
            return _becomes(memory, version, "provisional", cause)
        case "edit":
            # As after a repair: a new version starts provisional, from an empty record.
            revised = ev.MemoryRevised(
                memory=name,
                version=version + 1,
                body=override.text,
                repair="",
                round=0,
                number=0,
                capability=None,
            )
            return (revised, *_becomes(memory, version + 1, "provisional", cause))
        case "withdraw-condition":
            assert override.kind is not None
            return (
                ev.ConditionWithdrawn(
                    memory=name, version=version, kind=override.kind, text=override.text
                ),
            )
        case "add-avoid" | "add-use":
            return (
                ev.ConditionAdded(
                    memory=name,
                    version=version,
                    kind=ADDS[override.action],
                    text=override.text,
                    source="override",
                ),
            )


def _becomes(
    memory: Memory, version: int, state: ev.State, cause: str
) -> tuple[ev.StateChanged, ...]:
    if memory.state == state:
        return ()
    change = ev.StateChanged(
        memory=memory.id,
        version=version,
        before=memory.state,
        after=state,
        rule="override",
        evidence=(cause,),
    )
    return (change,)
