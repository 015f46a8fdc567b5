"""When a memory changes state: the rules of A.1 in the order they are tried.

`RULES` is the whole of it; each predicate returns the effects the transition rests on, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ..eventlog import events as ev
from ..projections.evidence import Effect
from .effects import distinct, rounded

PROMOTION_TASKS: Final = 2
HARM_TASKS: Final = 3
HARM_NEGATIVES: Final = 2
HARM_STREAK: Final = 3
INEFFECTIVE_TASKS: Final = 5


@attrs.frozen
class Transition:
    """A change of state: where to, by which rule, resting on which recorded effects (ids)."""

    after: ev.State
    rule: ev.LifecycleRule
    evidence: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Outcome:
    """What was just recorded about a version: one effect per task, oldest first, and the rest."""

    effects: tuple[Effect, ...]
    epsilon: float
    repair_failed: bool
    repair_committed: bool
    attached: bool


Basis = tuple[Effect, ...] | None


@attrs.frozen
class Rule:
    """A rule of A.1: from one of the states ``before`` to ``after`` if ``basis`` finds a basis."""

    name: ev.LifecycleRule
    before: tuple[ev.State, ...]
    after: ev.State
    basis: Callable[[Outcome], Basis]


def _failed_repair(outcome: Outcome) -> Basis:
    return _repaired_effect(outcome) if outcome.repair_failed else None


def _new_version(outcome: Outcome) -> Basis:
    return _repaired_effect(outcome) if outcome.repair_committed else None


def _promotion(outcome: Outcome) -> Basis:
    effects = outcome.effects
    holds = (
        len(effects) >= PROMOTION_TASKS
        and _mean(effects) > outcome.epsilon
        and all(effect.sign != "negative" for effect in effects)
    )
    return effects if holds else None


def _harm_while_provisional(outcome: Outcome) -> Basis:
    effects = _harm_counted(outcome)
    holds = (
        len(effects) >= HARM_TASKS
        and _mean(effects) < -outcome.epsilon
        and sum(effect.sign == "negative" for effect in effects) >= HARM_NEGATIVES
        and all(effect.sign != "positive" for effect in effects)
    )
    return effects if holds else None


def _harm_while_active(outcome: Outcome) -> Basis:
    latest = _harm_counted(outcome)[-HARM_STREAK:]
    holds = len(latest) == HARM_STREAK and all(effect.sign == "negative" for effect in latest)
    return latest if holds else None


def _ineffectiveness(outcome: Outcome) -> Basis:
    effects = outcome.effects
    changed = sum(effect.changed and not effect.avoid for effect in effects)
    neutral = all(effect.sign == "neutral" for effect in effects)
    return effects if changed >= INEFFECTIVE_TASKS and neutral else None


def _revival(outcome: Outcome) -> Basis:
    newest = outcome.effects[-1:]
    return newest if outcome.attached and newest and newest[0].sign == "positive" else None


RULES: Final = (
    Rule("failed repair", ("provisional", "active"), "inactive", _failed_repair),
    Rule("new version", ("provisional", "active", "inactive"), "provisional", _new_version),
    Rule("promotion", ("provisional",), "active", _promotion),
    Rule("sustained harm", ("provisional",), "inactive", _harm_while_provisional),
    Rule("sustained harm", ("active",), "inactive", _harm_while_active),
    Rule("ineffectiveness", ("provisional",), "inactive", _ineffectiveness),
    Rule("revival", ("inactive",), "provisional", _revival),
)
"""Every transition there is; the first rule that applies decides."""


def transition(
    state: ev.State,
    effects: Sequence[Effect],
    *,
    epsilon: float,
    repair_failed: bool = False,
    repair_committed: bool = False,
    attached: bool = False,
) -> Transition | None:
    """The change of state after a recorded outcome, or None if the state stays.

    Args:
        state: the state before.
        effects: the record E of the version, oldest first; the newest is the outcome. After a
            committed repair, the record of the parent version.
        epsilon: tolerance of an effect.
        repair_failed: a reuse-triggered repair just ended without an acceptable candidate.
        repair_committed: a repair just gave the memory a new version.
        attached: the newest effect is the re-evaluation after an attachment.
    """
    outcome = Outcome(
        effects=distinct(effects),
        epsilon=epsilon,
        repair_failed=repair_failed,
        repair_committed=repair_committed,
        attached=attached,
    )
    for rule in RULES:
        basis = rule.basis(outcome) if state in rule.before else None
        if basis is not None:
            if rule.after == state:
                return None
            ids = tuple(effect.event_id for effect in basis)
            return Transition(rule.after, rule.name, ids)
    return None


def _repaired_effect(outcome: Outcome) -> tuple[Effect, ...]:
    """The latest harmful effect: it is what the repair was for."""
    return tuple(effect for effect in outcome.effects if effect.sign == "negative")[-1:]


def _harm_counted(outcome: Outcome) -> tuple[Effect, ...]:
    """The effects that sustained harm may count: none if the newest use was misused.

    A use attributed to ``SCOPE`` informs the boundary instead; it neither retires a memory nor
    helps to (§3.3, A.1).
    """
    effects = outcome.effects
    if not effects or effects[-1].label == "SCOPE":
        return ()
    return tuple(effect for effect in effects if effect.label != "SCOPE")


def _mean(effects: tuple[Effect, ...]) -> float:
    """Mean effect over Q (Eq. 14), rounded like the effects it is made of."""
    return rounded(math.fsum(effect.effect for effect in effects) / len(effects))
