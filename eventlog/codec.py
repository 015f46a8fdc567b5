"""Events to canonical JSON and back, exactly: nothing is coerced, dropped or guessed.

The encoder is fixed by the log's format (``orjson/1``): compact UTF-8 with sorted keys. Hashes are
always over the stored bytes, never over a re-encoding.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any, Literal, get_args, get_origin

import attrs
import orjson
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError
from cattrs.preconf.orjson import make_converter

from .errors import LogError
from .events import EVENT_TYPES, BlobRef, Event
from .upcasters import event_class, upcast

ENCODER = "orjson/1"

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
)
_PLAIN = (bool, int, float, str)
_SHA256 = re.compile("[0-9a-f]{64}").fullmatch


# -- canonical JSON ----------------------------------------------------------------------------


def canonical(value: Any) -> bytes:
    """Canonical JSON of plain data: sorted keys, compact, UTF-8.

    Args:
        value: None, bool, int, float, str, and lists, tuples and str-keyed dicts of those.

    Raises:
        ValueError: a number is not finite or beyond 64 bits, a text holds a lone surrogate, or a
            value is not JSON; the message names the path of it.
    """
    try:
        data = orjson.dumps(value, option=_OPTIONS)
    except TypeError as error:
        problem = _problem(value, "$") or f"$: {error}"
        raise ValueError(f"not canonical JSON: {problem}") from None
    # orjson writes NaN and the infinities as null, so only a text with a null can hide one.
    if b"null" in data and not _finite(value):
        raise ValueError(f"not canonical JSON: {_problem(value, '$')}")
    return data


def digest(data: bytes) -> str:
    """SHA-256 of bytes, 64 lowercase hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """SHA-256 of the canonical JSON of ``value``."""
    return digest(canonical(value))


def _finite(value: Any) -> bool:
    """Whether no number in JSON data is NaN or infinite."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        return all(map(_finite, value.values()))
    if kind is list or kind is tuple:
        return all(map(_finite, value))
    return True


def _problem(value: Any, path: str) -> str | None:
    """The first place where plain data is not canonical JSON, or None."""
    match value:
        case None | bool():
            return None
        case str():
            if any("\ud800" <= char <= "\udfff" for char in value):
                return f"{path}: text with a lone surrogate"
        case int():
            if not -(2**63) <= value < 2**64:
                return f"{path}: integer beyond 64 bits"
        case float():
            if not math.isfinite(value):
                return f"{path}: {value} is not a finite number"
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    return f"{path}: key {key!r} is not text"
                if found := _problem(key, f"{path}.{key!a}") or _problem(item, f"{path}.{key}"):
                    return found
        case list() | tuple():
            for index, item in enumerate(value):
                if found := _problem(item, f"{path}.{index}"):
                    return found
        case _:
            return f"{path}: {type(value).__name__} is not JSON"
    return None


# -- exact hooks -------------------------------------------------------------------------------


def _exact(expected: type) -> Callable[[Any, Any], Any]:
    """A hook that takes values of exactly one type: no coercion, and bool is not int."""

    def hook(value: Any, _: Any) -> Any:
        if type(value) is expected:
            return value
        raise TypeError(f"expected {expected.__name__}, got {type(value).__name__}")

    return hook


def _blob_ref(value: Any, _: Any) -> BlobRef:
    if type(value) is str and _SHA256(value):
        return BlobRef(value)
    raise TypeError("expected the SHA-256 of a blob, 64 lowercase hex digits")


def _literal(annotation: Any) -> Callable[[Any, Any], Any]:
    words = frozenset(get_args(annotation))

    def hook(value: Any, _: Any) -> Any:
        if type(value) is str and value in words:
            return value
        raise ValueError(f"expected one of {', '.join(sorted(words))}")

    return hook


def _homogeneous_tuple(annotation: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    item_type = get_args(annotation)[0]
    item_hook = converter.get_structure_hook(item_type)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not list:
            raise TypeError(f"expected a list, got {type(value).__name__}")
        return tuple([item_hook(item, item_type) for item in value])

    return hook


def _dictionary(annotation: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    item_type = get_args(annotation)[1]
    item_hook = converter.get_structure_hook(item_type)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        return {key: item_hook(item, item_type) for key, item in value.items()}

    return hook


def _record(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """A hook for an attrs class without defaults that checks all its plain fields in one go.

    Comparing tuples of types runs in C, a hook call per field does not: a third of the time of
    cattrs' generated code for our events, which is what a rebuild spends most on.
    """
    attrs.resolve_types(cls)
    fields = {field.name: field.type for field in attrs.fields(cls)}
    plain = [name for name, kind in fields.items() if kind in _PLAIN]
    plain_types = tuple(fields[name] for name in plain)
    plain_values = _values_of(plain)
    others = [
        (name, converter.get_structure_hook(kind), kind)
        for name, kind in fields.items()
        if name not in plain
    ]

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        if tuple(map(type, plain_values(value))) != plain_types:
            raise TypeError(f"expected the exact types of {cls.__name__}")
        arguments = value.copy()
        for name, other_hook, kind in others:
            arguments[name] = other_hook(value[name], kind)
        # Missing and unexpected fields are refused by the constructor.
        return cls(**arguments)

    return hook


def _values_of(names: list[str]) -> Callable[[dict[str, Any]], Iterable[Any]]:
    match names:
        case []:
            return lambda _: ()
        case [name]:
            return lambda record: (record[name],)
        case _:
            return itemgetter(*names)


def _converter(*, detailed: bool) -> Converter:
    converter = make_converter(detailed_validation=detailed, forbid_extra_keys=True)
    for primitive in _PLAIN:
        converter.register_structure_hook(primitive, _exact(primitive))
    if not detailed:
        converter.register_structure_hook_factory(attrs.has, _record)
    converter.register_structure_hook_func(lambda t: t is BlobRef, _blob_ref)
    converter.register_structure_hook_factory(lambda t: get_origin(t) is Literal, _literal)
    converter.register_structure_hook_factory(
        lambda t: get_origin(t) is tuple,
        _homogeneous_tuple,
    )
    converter.register_structure_hook_factory(lambda t: get_origin(t) is dict, _dictionary)
    return converter


_FAST = _converter(detailed=False)
_DETAILED = _converter(detailed=True)
_STRUCTURE = {name: _FAST.get_structure_hook(cls) for name, cls in EVENT_TYPES.items()}
_UNSTRUCTURE = {cls: _FAST.get_unstructure_hook(cls) for cls in EVENT_TYPES.values()}


# -- events ------------------------------------------------------------------------------------


def encode(event: Event) -> bytes:
    """The payload of an event.

    Raises:
        ValueError: a field holds what canonical JSON cannot; the message names the path.
    """
    try:
        return canonical(_UNSTRUCTURE[type(event)](event))
    except ValueError as error:
        raise ValueError(f"{type(event).__name__}: {error}") from None


def decode(type_name: str, schema_version: int, payload: bytes) -> Event:
    """The event a payload records, lifted to the current schema version.

    Raises:
        LogError: unknown type, newer schema version, or a payload that does not have the fields
            and exact types of its version; the message names the path.
    """
    cls = event_class(type_name, schema_version)
    try:
        fields = orjson.loads(payload)
        if schema_version < cls.SCHEMA_VERSION:
            fields = upcast(type_name, schema_version, fields)
        event: Event = _STRUCTURE[type_name](fields, cls)
    except Exception as error:
        reason = _reason(cls, schema_version, payload) or str(error)
        raise LogError(f"{type_name}: the payload is not readable: {reason}") from None
    return event


def _reason(cls: type[Event], schema_version: int, payload: bytes) -> str:
    """Why a payload that the fast hooks refused is refused, with the path of the field."""
    try:
        _DETAILED.structure(upcast(cls.__name__, schema_version, orjson.loads(payload)), cls)
    except BaseValidationError as error:
        return "; ".join(transform_error(error, path=cls.__name__, format_exception=_words))
    except Exception as error:
        return str(error)
    return ""


def _words(error: BaseException, _: type | None) -> str:
    match error:
        case KeyError():
            return "missing field"
        case ForbiddenExtraKeysError():
            return f"unexpected fields {', '.join(sorted(error.extra_fields))}"
        case _:
            return str(error)


def plain(event: Event) -> dict[str, Any]:
    """The event as plain JSON data, as its payload holds it."""
    fields: dict[str, Any] = orjson.loads(encode(event))
    return fields


# -- blobs -------------------------------------------------------------------------------------


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
