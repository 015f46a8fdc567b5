"""Whether a repaired rule may replace its parent, and which of several (Eq. 9, 10, 15, 16)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import attrs

from ..eventlog import events as ev
from .effects import paired_effect

Purpose = Literal["trigger", "retention", "related", "calibration"]


@attrs.frozen(kw_only=True)
class Verdict:
    """What the gate says about one candidate.

    ``improving``: the trigger score rises by more than the tolerance; ``trigger_gain``: by how
    much. ``worst_margin``: the least margin of Eq. 15 over the historical tasks, None without any.
    ``failures`` and ``parent_failures``: tasks scored zero, F of Eq. 10. ``rejected_by``: the
    first task that regressed, empty if none did. ``reason``: a short stable phrase.
    """

    accepted: bool
    improving: bool
    trigger_gain: float
    worst_margin: float | None
    failures: int
    parent_failures: int
    rejected_by: str
    reason: str


@attrs.frozen(kw_only=True)
class Ranked:
    """A judged candidate with what the ranking reads: edit size and place of proposal."""

    verdict: Verdict
    distance: int
    round: int
    number: int


def compare(
    task: str, purpose: Purpose, candidate: float, parent: float, none: float
) -> ev.Comparison:
    """The three scores of a validation task with the margins over parent and nothing (Eq. 15)."""
    return ev.Comparison(
        task=task,
        purpose=purpose,
        candidate=candidate,
        parent=parent,
        none=none,
        gamma=paired_effect(candidate, parent),
        beta=paired_effect(candidate, none),
    )


def judge_reuse(
    comparisons: Sequence[ev.Comparison],
    *,
    epsilon: float,
    cites_diagnosed: bool,
    states_correction: bool,
    changes_body: bool,
) -> Verdict:
    """The gate of a reuse-triggered repair (Eq. 9, Eq. 10, A.2).

    Args:
        comparisons: one per task of V, the trigger and both historical sets, in any order.
        epsilon: tolerance.
        cites_diagnosed: the edit cites evidence the diagnosis rests on.
        states_correction: the edit says what it is expected to correct.
        changes_body: the body differs from the parent's.

    Raises:
        ValueError: not exactly one comparison is the trigger's.
    """
    triggers = [each for each in comparisons if each.purpose == "trigger"]
    if len(triggers) != 1:
        raise ValueError(f"a reuse gate needs one trigger comparison (got {len(triggers)})")
    trigger = triggers[0]
    history = [each for each in comparisons if each.purpose != "trigger"]
    ordered = [trigger, *history]
    improving = trigger.gamma > epsilon
    rejected_by, reason = _regression(ordered, epsilon)
    if not reason and _failures(ordered) > _parent_failures(ordered):
        reason = "more complete failures than the parent"
    if not reason and not improving:
        if not cites_diagnosed:
            reason = "not improving and cites no diagnosed evidence"
        elif not states_correction:
            reason = "not improving and states no correction"
        elif not changes_body:
            reason = "not improving and leaves the body unchanged"
    return Verdict(
        accepted=not reason,
        improving=improving,
        trigger_gain=trigger.gamma,
        worst_margin=_worst_margin(history),
        failures=_failures(ordered),
        parent_failures=_parent_failures(ordered),
        rejected_by=rejected_by,
        reason=reason or "accepted",
    )


def judge_calibration(comparisons: Sequence[ev.Comparison], *, epsilon: float) -> Verdict:
    """The gate of a calibration repair: no margin below the tolerance on any task (Eq. 16).

    The trigger is the first task the parent harmed; failures are counted, but do not decide.

    Args:
        comparisons: one per calibration task whose three scores are complete.
        epsilon: tolerance.

    Raises:
        ValueError: there is nothing to judge by, or the parent harmed no task.
    """
    harmed = [each for each in comparisons if paired_effect(each.parent, each.none) < -epsilon]
    if not harmed:
        raise ValueError("a calibration gate needs a comparison on which the parent did harm")
    rejected_by, reason = _regression(comparisons, epsilon)
    return Verdict(
        accepted=not reason,
        improving=harmed[0].gamma > epsilon,
        trigger_gain=harmed[0].gamma,
        worst_margin=_worst_margin(comparisons),
        failures=_failures(comparisons),
        parent_failures=_parent_failures(comparisons),
        rejected_by=rejected_by,
        reason=reason or "accepted",
    )


def rank(judged: Iterable[Ranked]) -> list[Ranked]:
    """The accepted candidates, best first; the first, if any, is committed (A.2).

    Improving before not, then the larger trigger gain, the larger worst margin (no history counts
    as infinite), the smaller edit, the earlier proposal.
    """

    def key(candidate: Ranked) -> tuple[bool, float, float, int, int, int]:
        verdict = candidate.verdict
        margin = math.inf if verdict.worst_margin is None else verdict.worst_margin
        return (
            not verdict.improving,
            -verdict.trigger_gain,
            -margin,
            candidate.distance,
            candidate.round,
            candidate.number,
        )

    return sorted((each for each in judged if each.verdict.accepted), key=key)


def _regression(comparisons: Iterable[ev.Comparison], epsilon: float) -> tuple[str, str]:
    """The first task on which the candidate falls short (Eq. 9), and of what; else empty."""
    for each in comparisons:
        if each.gamma < -epsilon:
            return each.task, "scores below the parent"
        if each.beta < -epsilon:
            return each.task, "scores below no memory"
    return "", ""


def _worst_margin(comparisons: Iterable[ev.Comparison]) -> float | None:
    return min((min(each.gamma, each.beta) for each in comparisons), default=None)


def _failures(comparisons: Iterable[ev.Comparison]) -> int:
    return sum(each.candidate <= 0 for each in comparisons)


def _parent_failures(comparisons: Iterable[ev.Comparison]) -> int:
    return sum(each.parent <= 0 for each in comparisons)
