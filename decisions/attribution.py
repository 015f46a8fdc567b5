"""Why a use went as it did: the scope check's answer, the diagnosis, the label (Eq. 5, 6)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, get_args

import attrs

from ..eventlog import events as ev

DEFECT_TYPES: Final[tuple[str, ...]] = get_args(ev.DefectType)
"""The defects a diagnosis may name."""

MAX_CITED: Final = 8
"""The most steps a diagnosis may cite."""


@attrs.frozen
class Scope:
    """What the scope check said about one use.

    ``use``: every context satisfies a use condition; ``avoid``: some avoid condition is satisfied;
    ``boundary``: the observable φ that tells this situation apart, possibly empty. ``known`` is
    false when the check gave no usable answer; nothing may then be learned from the use.
    """

    use: bool
    avoid: bool
    boundary: str
    known: bool = True


UNKNOWN: Final = Scope(use=False, avoid=False, boundary="", known=False)
"""The scope check's fallback."""


@attrs.frozen
class Attribution:
    """The label of a use, the row of Eq. 6 that gave it, and φ if the boundary is to grow."""

    label: ev.Label
    reason: str
    boundary: str


def effective_scope(scope: Scope, use_when: Sequence[str], avoid_when: Sequence[str]) -> Scope:
    """``scope`` with what an empty condition list cannot satisfy taken back.

    A fit needs at least one satisfied condition (Eq. 5), so whatever the check said, nothing fits
    an empty list.
    """
    return attrs.evolve(
        scope, use=scope.use and bool(use_when), avoid=scope.avoid and bool(avoid_when)
    )


def needs_diagnosis(sign: ev.Sign, scope: Scope) -> bool:
    """Whether the content diagnosis runs: only for a harmful use known to be in scope (§3.2)."""
    return scope.known and sign == "negative" and scope.use and not scope.avoid


def supported(
    defect: str, description: str, cited: Sequence[str], displayed: Collection[str]
) -> tuple[bool, str]:
    """Whether a diagnosis is supported, and if not, the first thing wrong with it.

    Args:
        defect: the named type.
        description: what is wrong with the rule, in words.
        cited: ids of the steps that show it.
        displayed: ids of the steps that the diagnosis was shown.
    """
    problem = ""
    if defect not in DEFECT_TYPES:
        problem = f"unknown defect type: {defect}"
    elif not description.strip():
        problem = "empty description"
    elif not cited:
        problem = "no step cited"
    elif len(set(cited)) > MAX_CITED:
        problem = f"more than {MAX_CITED} steps cited"
    else:
        for step in cited:
            if step not in displayed:
                problem = f"step not displayed: {step}"
                break
    return not problem, problem


def attribute(sign: ev.Sign, scope: Scope, defect_supported: bool) -> Attribution:
    """The label of a use (Eq. 6), row by row; an avoid match wins whatever the effect was.

    Args:
        sign: sign of the paired effect.
        scope: the scope check's answer, made effective (`effective_scope`).
        defect_supported: whether a diagnosis ran and is supported; read only where one runs.
    """
    if not scope.known:
        return Attribution("NONE", "the scope check gave no usable answer", "")
    if scope.avoid:
        return Attribution("SCOPE", "an avoid condition matched", scope.boundary)
    if sign != "negative":
        return Attribution("NONE", "no harm and no avoid condition matched", "")
    if not scope.use:
        return Attribution("SCOPE", "harm outside the use conditions", scope.boundary)
    if defect_supported:
        return Attribution("CONTENT", "harm in scope with a supported defect", "")
    return Attribution("NONE", "harm in scope without a supported defect", "")
