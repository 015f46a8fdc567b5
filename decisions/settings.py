"""The parameters of the method (Table 3) and the version of the rules that read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import attrs

DECISION_VERSION: Final = "1"
"""Version of the rules and prompts in this folder; a log names the one it was decided with."""

META_MEMORY: Final = "meta-memory"
REPAIR_VALIDATION: Final = "repair-validation"
ABLATIONS: Final = (META_MEMORY, REPAIR_VALIDATION)
"""What a run can do without (App. C, ablation variants), in the order in which it is recorded."""

_Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def _number(value: object) -> object:
    """A whole number as float, so that ``0`` and ``0.0`` are one configuration, not two."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _in_order(value: object) -> object:
    """Names of ablations each once and in their order, so that one set is one configuration."""
    if not isinstance(value, list | tuple) or not all(name in ABLATIONS for name in value):
        return value
    return tuple(name for name in ABLATIONS if name in value)


def _ablations(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, tuple) or not all(name in ABLATIONS for name in value):
        raise ValueError(
            f"{attribute.name} must be a list of {', '.join(ABLATIONS)} (got {value!r})"
        )


def _finite_in(low: float, high: float) -> _Validator:
    bounds = f">= {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"

    def validate(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, float):
            raise ValueError(f"{attribute.name} must be a number (got {value!r})")
        if not math.isfinite(value):
            raise ValueError(f"{attribute.name} must be finite (got {value})")
        if not low <= value <= high:
            raise ValueError(f"{attribute.name} must be {bounds} (got {value:g})")

    return validate


def _whole_from(low: int) -> _Validator:
    def validate(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{attribute.name} must be a whole number (got {value!r})")
        if value < low:
            raise ValueError(f"{attribute.name} must be >= {low} (got {value})")

    return validate


def _count(default: int, *, low: int = 0) -> int:
    field: int = attrs.field(default=default, validator=_whole_from(low))
    return field


@attrs.frozen(kw_only=True)
class Settings:
    """Every parameter of the method with its reference value; all but ``n_plus`` are upper bounds.

    Attributes:
        epsilon: tolerance of an effect, in units of the score.
        seed: seed of the executions and of the retention sample.
        theta: least cosine similarity of a memory worth retrieving (Eq. 13).
        k_ret: memories retrieved per role.
        k_inj: memories injected per role and task; 0 turns injection off, not the pipeline.
        k_id: memories an identity match may consider; 0 admits every proposal.
        n_plus: qualifying positive tasks before use conditions may grow (Eq. 12).
        candidates: edits per repair round (K).
        rounds: rounds per repair (R).
        n1: retention tasks per repair (Eq. 8).
        n2: related tasks per repair, and calibration tasks per new memory.
        related_tries: nearest tasks examined for one that is not saturated; each costs replays, and
            the paper sets no bound.
        attempts: times the model is asked before a decision falls back.
        without: what is left out, of `ABLATIONS`; nothing in a reference run.

    Raises:
        ValueError: a value is of the wrong type or out of its range.
    """

    epsilon: float = attrs.field(default=0.01, converter=_number, validator=_finite_in(0, math.inf))
    seed: int = _count(42)
    theta: float = attrs.field(default=0.25, converter=_number, validator=_finite_in(-1, 1))
    k_ret: int = _count(3, low=1)
    k_inj: int = _count(1)
    k_id: int = _count(5)
    n_plus: int = _count(2, low=1)
    candidates: int = _count(3)
    rounds: int = _count(3)
    n1: int = _count(2)
    n2: int = _count(1)
    related_tries: int = _count(10)
    attempts: int = _count(3)
    without: tuple[str, ...] = attrs.field(default=(), converter=_in_order, validator=_ablations)

    @property
    def uses_meta_memory(self) -> bool:
        """Whether owner and conditions decide which rules a role is given and are shown with them.

        If not, a rule of any role may reach any role, is found by its body alone and is shown
        without its conditions. Either way effects are measured and attributed, and conditions and
        states go on being learned.
        """
        return META_MEMORY not in self.without

    @property
    def validates_repairs(self) -> bool:
        """Whether a repair's candidates are tried before one is committed.

        If not, the first that can be made is committed as it is.
        """
        return REPAIR_VALIDATION not in self.without
