"""Which blobs an event cites, and in which field."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args, get_origin

import attrs

from .events import EVENT_TYPES, BlobRef, Event


def citations(event: Event) -> dict[str, str]:
    """The blobs an event cites: path of the field in the payload to SHA-256 in hex.

    The path has dots: ``text_blob``, ``messages.0.content``.
    """
    found: dict[str, str] = {}
    for name, collect in _CITING[type(event)]:
        collect(getattr(event, name), name, found)
    return found


_Collect = Callable[[Any, str, dict[str, str]], None]


def _collector(annotation: Any) -> _Collect | None:
    """What collects the blob references of a field of this type; None if it can hold none."""
    if annotation is BlobRef:
        return _collect_one
    if attrs.has(annotation):
        fields = _citing_fields(annotation)
        return partial(_collect_fields, fields) if fields else None
    collect = next(filter(None, map(_collector, get_args(annotation))), None)
    if collect is not None and get_origin(annotation) is tuple:
        return partial(_collect_items, collect)
    return collect


def _citing_fields(cls: Any) -> tuple[tuple[str, _Collect], ...]:
    attrs.resolve_types(cls)
    pairs = ((field.name, _collector(field.type)) for field in attrs.fields(cls))
    return tuple((name, collect) for name, collect in pairs if collect)


def _collect_one(value: str | None, path: str, found: dict[str, str]) -> None:
    if value is not None:
        found[path] = value


def _collect_fields(
    fields: tuple[tuple[str, _Collect], ...], value: Any, path: str, found: dict[str, str]
) -> None:
    for name, collect in fields:
        collect(getattr(value, name), f"{path}.{name}", found)


def _collect_items(collect: _Collect, value: Any, path: str, found: dict[str, str]) -> None:
    for index, item in enumerate(value):
        collect(item, f"{path}.{index}", found)


_CITING = {cls: _citing_fields(cls) for cls in EVENT_TYPES.values()}
