"""Exact-type hooks for cattrs, which by itself makes "7" a number and None a text.

Nothing is coerced: bool is not int, int is not float, a text is not a list, and every field of a
record must be there and no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from cattrs import BaseConverter, Converter
from cattrs.preconf.orjson import make_converter

from .events import BlobRef

Hook = Callable[[Any, Any], Any]

_PLAIN = (bool, int, float, str)
_SHA256 = re.compile("[0-9a-f]{64}").fullmatch


def strict_converter(*, detailed: bool) -> Converter:
    """A converter of JSON data that takes exactly what the annotations say.

    Args:
        detailed: make errors name the path of the field, at twice the time.
    """
    converter = make_converter(detailed_validation=detailed, forbid_extra_keys=True)
    for primitive in _PLAIN:
        converter.register_structure_hook(primitive, _exact(primitive))
    converter.register_structure_hook_func(lambda kind: kind is BlobRef, _blob_ref)
    if not detailed:
        converter.register_structure_hook_factory(attrs.has, _record)
    for origin, factory in _FACTORIES:
        converter.register_structure_hook_factory(partial(_has_origin, origin), factory)
    return converter


def _has_origin(origin: object, kind: object) -> bool:
    return get_origin(kind) is origin


def _exact(expected: type) -> Hook:
    def hook(value: Any, _: Any) -> Any:
        if type(value) is expected:
            return value
        raise TypeError(f"expected {expected.__name__}, got {type(value).__name__}")

    return hook


def _blob_ref(value: Any, _: Any) -> BlobRef:
    if type(value) is str and _SHA256(value):
        return BlobRef(value)
    raise TypeError("expected the SHA-256 of a blob, 64 lowercase hex digits")


def _literal(annotation: Any, _: BaseConverter) -> Hook:
    words = frozenset(get_args(annotation))

    def hook(value: Any, _: Any) -> Any:
        if type(value) is str and value in words:
            return value
        raise ValueError(f"expected one of {', '.join(sorted(words))}")

    return hook


def _optional(annotation: Any, converter: BaseConverter) -> Hook:
    (kind,) = (argument for argument in get_args(annotation) if argument is not NoneType)
    some = converter.get_structure_hook(kind)

    def hook(value: Any, _: Any) -> Any:
        return None if value is None else some(value, kind)

    return hook


def _sequence(annotation: Any, converter: BaseConverter) -> Hook:
    kind = get_args(annotation)[0]
    items: Any = list[kind]  # type: ignore[valid-type]
    structure = converter.get_structure_hook(items)
    only = frozenset((kind,))

    def of_plain(value: Any, _: Any) -> Any:
        if type(value) is list and only.issuperset(map(type, value)):
            return tuple(value)
        return hook(value, _)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not list:
            raise TypeError(f"expected a list, got {type(value).__name__}")
        return tuple(structure(value, items))

    return of_plain if kind in _PLAIN else hook


def _mapping(annotation: Any, converter: BaseConverter) -> Hook:
    kind = get_args(annotation)[1]
    item = converter.get_structure_hook(kind)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        return {key: item(each, kind) for key, each in value.items()}

    return hook


def _record(cls: Any, converter: BaseConverter) -> Hook:
    """A hook for an attrs class that checks all its plain fields in one go.

    Comparing tuples of types runs in C, a hook call per field does not; decoding is what a rebuild
    spends most of its time on.
    """
    attrs.resolve_types(cls)
    kinds = {field.name: field.type for field in attrs.fields(cls)}
    plain = {name: kind for name, kind in kinds.items() if kind in _PLAIN or kind is BlobRef}
    plain_values = _values_of(plain)
    plain_types = tuple(str if kind is BlobRef else kind for kind in plain.values())
    refs = _values_of(name for name, kind in plain.items() if kind is BlobRef)
    others = [
        (name, converter.get_structure_hook(kind), kind)
        for name, kind in kinds.items()
        if name not in plain
    ]

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        if tuple(map(type, plain_values(value))) != plain_types:
            raise TypeError(f"expected the exact types of {cls.__name__}")
        if not all(map(_SHA256, refs(value))):
            raise TypeError(f"expected digests in {cls.__name__}")
        # The constructor refuses fields it does not know.
        if not others:
            return cls(**value)
        arguments = value.copy()
        for name, other, kind in others:
            arguments[name] = other(value[name], kind)
        return cls(**arguments)

    return hook


def _values_of(names: Iterable[str]) -> Callable[[dict[str, Any]], Iterable[Any]]:
    match list(names):
        case []:
            return lambda _: ()
        case [name]:
            return lambda record: (record[name],)
        case several:
            return itemgetter(*several)


_FACTORIES = (
    (Literal, _literal),
    (Union, _optional),
    (UnionType, _optional),
    (tuple, _sequence),
    (dict, _mapping),
)
