"""Every event type with its fields, from the classes that are the vocabulary."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from discernmem.eventlog import events as ev

from .words import Meanings, prose, table

_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def events(meanings: Meanings) -> str:
    """The page."""
    parts = [
        "# Events",
        "A log is a list of events. An *observed* event is what the world answered and cannot be "
        "computed again. A *derived* event is what the rules concluded; replay computes it again "
        "and compares.",
        "Each is a row of the table [`events`](views.md#events), which has its position, its "
        "stream, the task it belongs to, its cause and its link of the chain; the fields below are "
        "those of its `payload`, a JSON object. A *blob* is given by the SHA-256 of its content, "
        "which is in the table [`blobs`](views.md#blobs).",
    ]
    for kind in get_args(ev.Kind):
        of_kind = {name: cls for name, cls in ev.EVENT_TYPES.items() if kind == cls.KIND}
        parts += [
            f"## {kind.capitalize()} events",
            " · ".join(f"[{name}](#{name.lower()})" for name in of_kind),
        ]
        for cls in of_kind.values():
            parts += _event(cls, meanings)
    parts.append("## Values inside payloads")
    for cls in vars(ev).values():
        if isinstance(cls, type) and attrs.has(cls) and not issubclass(cls, ev.Event):
            parts += [f"### {cls.__name__}", prose(cls), _fields(cls, meanings, frozenset())]
    return "\n\n".join(parts)


def _event(cls: type[ev.Event], meanings: Meanings) -> list[str]:
    parts = [f"### {cls.__name__}", prose(cls)]
    of_stream = f"Stream `{cls.STREAM}`, version {cls.SCHEMA_VERSION} of the payload."
    base = cls.__mro__[1]
    if base is ev.Event:
        return [*parts, of_stream, _fields(cls, meanings, frozenset())]
    inherited = frozenset(field.name for field in attrs.fields(base))
    more = f"{of_stream} The fields of [{base.__name__}](#{base.__name__.lower()}), and:"
    return [*parts, more, _fields(cls, meanings, inherited)]


def _fields(cls: type[Any], meanings: Meanings, but: frozenset[str]) -> str:
    hints = get_type_hints(cls)
    rows = [
        (
            f"`{field.name}`",
            _type(hints[field.name]),
            meanings.of("event", f"{cls.__name__}.{field.name}", field.name),
        )
        for field in attrs.fields(cls)
        if field.name not in but
    ]
    return table(("field", "holds", "meaning"), rows)


def _type(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is ev.BlobRef:
        return "blob"
    if hint is NoneType:
        return "null"
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(map(_type, inside))
    if origin is tuple:
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return "object"
    if attrs.has(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return _WORDS[hint]
