"""Exact-type hooks for cattrs, which by itself makes "7" a number and None a text.

Nothing is coerced: bool is not int, int is not float, a text is not a list, and every field of a
record must be there and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from cattrs import BaseConverter, Converter
from cattrs.preconf.orjson import make_converter

Hook = Callable[[Any, Any], Any]

_PLAIN = (bool, int, float, str)


def strict_converter(*, detailed: bool) -> Converter:
    """A converter of JSON data that takes exactly what the annotations say.

    Args:
        detailed: make errors name the path of the field, at twice the time.
    """
    converter = make_converter(detailed_validation=detailed, forbid_extra_keys=True)
    for primitive in _PLAIN:
        converter.register_structure_hook(primitive, _exact(primitive))
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
    if converter.detailed_validation:
        return _explained_sequence(kind, converter)
    item = converter.get_structure_hook(kind)
    only = frozenset((kind,))

    def of_plain(value: Any, _: Any) -> Any:
        if type(value) is list and (not value or only.issuperset(map(type, value))):
            return tuple(value)
        raise TypeError(f"expected a list of {kind.__name__}")

    def hook(value: Any, _: Any) -> Any:
        if type(value) is list:
            return tuple([item(each, kind) for each in value])
        raise TypeError(f"expected a list, got {type(value).__name__}")

    return of_plain if kind in _PLAIN else hook


def _explained_sequence(kind: Any, converter: BaseConverter) -> Hook:
    items: Any = list[kind]
    structure = converter.get_structure_hook(items)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is list:
            return tuple(structure(value, items))
        raise TypeError(f"expected a list, got {type(value).__name__}")

    return hook


def _mapping(annotation: Any, converter: BaseConverter) -> Hook:
    kind = get_args(annotation)[1]
    item = converter.get_structure_hook(kind)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        return {key: item(each, kind) for key, each in value.items()}

    return hook


def _record(cls: Any, converter: BaseConverter) -> Hook:
    """A hook for an attrs class that checks all its scalar fields in one go.

    Decoding is what a rebuild spends most of its time on. Looking up the types of all fields in the
    set of those allowed runs in C, and so do the words; a call for each field would not. The dict
    handed in is used up.
    """
    attrs.resolve_types(cls)
    kinds = {field.name: field.type for field in attrs.fields(cls)}
    scalars = {name: types for name, kind in kinds.items() if (types := _scalar_types(kind))}
    words = {name: get_args(kind) for name, kind in kinds.items() if get_origin(kind) is Literal}
    scalars_of, words_of = _values_of(scalars), _values_of(words)
    allowed_types = frozenset(product(*scalars.values()))
    allowed_words = frozenset(product(*words.values()))
    direct, new = _is_direct(cls), object.__new__
    others = [
        (name, converter.get_structure_hook(kind), kind)
        for name, kind in kinds.items()
        if name not in scalars and name not in words
    ]

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        if tuple(map(type, scalars_of(value))) not in allowed_types:
            raise TypeError(f"expected the exact types of {cls.__name__}")
        if words and words_of(value) not in allowed_words:
            raise ValueError(f"expected the words of {cls.__name__}")
        for name, other, kind in others:
            value[name] = other(value[name], kind)
        if len(value) != len(kinds):
            raise TypeError(f"expected no other fields in {cls.__name__}")
        if not direct:
            return cls(**value)
        made = new(cls)
        made.__dict__.update(value)
        return made

    return hook


def _is_direct(cls: Any) -> bool:
    """Whether checked fields may be put into an instance as copy and pickle put them.

    They may if the constructor would do nothing else; it takes longer than all checks together.
    """
    fields = attrs.fields(cls)
    plain = all(field.validator is None and field.converter is None for field in fields)
    return plain and not hasattr(cls, "__attrs_post_init__") and not hasattr(cls, "__slots__")


def _scalar_types(kind: Any) -> tuple[type, ...]:
    """The types a value may have in a field that needs no hook; none if it needs one."""
    kind = getattr(kind, "__supertype__", kind)
    if kind in _PLAIN:
        return (kind,)
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    if all(option is NoneType or _scalar_types(option) for option in options):
        return tuple(
            option if option is NoneType else _scalar_types(option)[0] for option in options
        )
    return ()


def _values_of(names: Iterable[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
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
