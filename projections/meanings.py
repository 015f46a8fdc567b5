"""What the lifecycle rules of A.1 say, in words, with the settings of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..eventlog import events as ev
from .telling import counted

_MEANINGS: Final[Mapping[ev.LifecycleRule, str]] = {
    "failed repair": (
        "it did harm by its own words, and no edit of it passed on the trigger, up to "
        "{retention} for retention and up to {related}, in up to {rounds} of up to {edits}; this "
        "comes before every other rule"
    ),
    "new version": (
        "its words were changed, so it starts again as provisional, with an empty record of effects"
    ),
    "promotion": (
        "effects on at least 2 tasks, a mean effect above {epsilon:g}, and none of them negative"
    ),
    "sustained harm": "leaving out effects labelled SCOPE: {harm}",
    "ineffectiveness": (
        "it changed the run on at least 5 tasks where no avoid condition was met, and yet every "
        "effect recorded is neutral"
    ),
    "revival": "the same experience came up again, and tried on that task it had a positive effect",
    "override": "a person decided so",
}


_UNTRIED: Final = (
    "it did harm by its own words, and in up to {rounds} of up to {edits} none could be made; this "
    "comes before every other rule"
)

_HARM: Final[Mapping[ev.State, str]] = {
    "provisional": (
        "effects on at least 3 tasks with a mean below -{epsilon:g}, at least 2 of them negative "
        "and none positive"
    ),
    "active": "its 3 latest effects all negative",
}


def meaning(
    rule: ev.LifecycleRule, method: Mapping[str, Any], before: ev.State | None = None
) -> str:
    """Why a lifecycle rule changes a state, in words.

    Args:
        rule: the rule.
        method: the method's settings in force.
        before: the state it changed, to leave out what the rule says of others.
    """
    harm = _HARM.get(before) if before else None
    words = {
        "epsilon": method["epsilon"],
        "retention": counted(method["n1"], "task"),
        "related": counted(method["n2"], "related task"),
        "rounds": counted(method["rounds"], "round"),
        "edits": counted(method["candidates"], "edit"),
        "harm": harm or "; ".join(f"while {state}, {said}" for state, said in _HARM.items()),
    }
    words["harm"] = words["harm"].format_map(method)
    untried = rule == "failed repair" and not _tries(method)
    return (_UNTRIED if untried else _MEANINGS[rule]).format_map(words)


def _tries(method: Mapping[str, Any]) -> bool:
    """Whether candidates are tried before one is committed."""
    return "repair-validation" not in method.get("without", ())


def bar(kind: ev.RepairKind, method: Mapping[str, Any]) -> str:
    """What a candidate of a repair has to pass (Eq. 9, 10, 16), in sentences."""
    if not _tries(method):
        return "This run tries no candidate: the first edit that can be made is committed."
    if kind == "calibration":
        return (
            "A candidate passes if it scores, on every calibration task, at most {epsilon:g} less "
            "than the rule as it was and than no memory. The first that passes is committed."
        ).format_map(method)
    return (
        "A candidate passes if it scores, on every task, at most {epsilon:g} less than the rule as "
        "it was and than no memory, and scores 0 on no more tasks than the rule as it was; one "
        "that does not improve the trigger must cite diagnosed steps and say what it corrects. "
        "The best that passes is committed."
    ).format_map(method)
