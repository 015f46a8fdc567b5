"""What the other side has to know of a program's objects: their classes, and what they refine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .special import SPECIAL

_TEXT = 1 << 16
_KEYS: type = type({}.keys())
PLAIN_BASES: dict[type, Callable[[Any], Any]] = {
    bool: bool,
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    dict: dict.copy,
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    _KEYS: set,
}
# These stay with the program; what derives from the others travels as a value.
HELD_BASES = (list, dict, set, _KEYS)


def plain_base(kind: type) -> type | None:
    """The plain type that a class derives from, if any."""
    return next((base for base in PLAIN_BASES if issubclass(kind, base)), None)


def class_marks(kind: type, plain: type | None) -> list[str]:
    """What a class has beyond every object, or beyond the plain type whose values it refines."""
    base = object if plain in HELD_BASES or plain is None else plain
    names = [name for name in SPECIAL if _own(kind, base, name)]
    if base is not object:
        names += [name for name in dir(base) if name[:2] != "__" and _own(kind, base, name)]
    if kind.__hash__ is None:
        names.append("unhashable")
    return names if plain is None else [*names, f"plain {plain.__name__}"]


def _own(kind: type, base: type, name: str) -> bool:
    method = getattr(kind, name, None)
    return method is not None and method is not getattr(base, name, None)


def error_text(error: BaseException) -> str:
    """What an exception says, if it says anything."""
    try:
        return str(error)[:_TEXT]
    except BaseException:
        return ""


def error_arguments(error: BaseException) -> tuple[Any, ...]:
    """The arguments of an exception, its text alone where they hold very long text."""
    arguments = error.args
    if isinstance(error, BaseExceptionGroup):
        # A list would still be empty when the other side makes the group.
        arguments = (error.message, tuple(error.exceptions))
    long = any(type(part) is str and len(part) > _TEXT for part in arguments)
    return (error_text(error),) if long else arguments
