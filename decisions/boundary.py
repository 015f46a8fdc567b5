"""How a memory's scope grows: exceptions from misuse, use conditions from success (Eq. 12).

Conditions are only ever added. Two conditions are the same if they differ in case or spacing only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..projections.evidence import Effect
from .attribution import Attribution
from .effects import distinct


def new_avoid(memory_avoid_texts: Iterable[str], attribution: Attribution) -> str | None:
    """The avoid condition a use adds, or None: φ of a ``SCOPE`` use if concrete and new."""
    if attribution.label != "SCOPE":
        return None
    added = additions(memory_avoid_texts, [attribution.boundary])
    return added[0] if added else None


def qualifying_positive(effects: Iterable[Effect]) -> list[Effect]:
    """T+ of a version: its positive effects without an avoid match, in task order."""
    qualifying = distinct(effect for effect in effects if effect.qualifies)
    return sorted(qualifying, key=lambda effect: effect.task_index)


def may_generalise(this_effect: Effect, effects: Sequence[Effect], n_plus: int) -> bool:
    """Whether the generaliser runs after this use (Eq. 12).

    Args:
        this_effect: the effect just recorded.
        effects: the record E of the version, ``this_effect`` included.
        n_plus: least number of qualifying positive tasks.
    """
    return this_effect.qualifies and len(qualifying_positive(effects)) >= n_plus


def new_uses(memory_use_texts: Iterable[str], returned: Iterable[str]) -> tuple[str, ...]:
    """The use conditions that ``returned`` adds, in its order; what is left out stays as it was."""
    return additions(memory_use_texts, returned)


def additions(present: Iterable[str], offered: Iterable[str]) -> tuple[str, ...]:
    """The offered conditions that are concrete and not present yet, tidied, in their order."""
    seen = {key_of(text) for text in present}
    added: list[str] = []
    for text in offered:
        key = key_of(text)
        if key and key not in seen:
            seen.add(key)
            added.append(" ".join(text.split()))
    return tuple(added)


def key_of(text: str) -> str:
    """What two conditions have in common if they are the same."""
    return " ".join(text.split()).casefold()
