"""Events to canonical JSON and back, exactly: nothing is coerced, dropped or guessed.

The encoder is fixed by the log's format (``orjson/1``): compact UTF-8 with sorted keys. Hashes are
always over the stored bytes, never over a re-encoding.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import orjson
from cattrs import transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from .errors import LogError
from .events import EVENT_TYPES, Event
from .strict import strict_converter
from .upcasters import event_class, upcast

ENCODER = "orjson/1"

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
)
_FAST = strict_converter(detailed=False)
_DETAILED = strict_converter(detailed=True)
_STRUCTURE = {name: _FAST.get_structure_hook(cls) for name, cls in EVENT_TYPES.items()}
_UNSTRUCTURE = {cls: _FAST.get_unstructure_hook(cls) for cls in EVENT_TYPES.values()}


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
    """Whether no number in JSON data or records of it is NaN or infinite."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        value = value.values()
    elif hasattr(kind, "__attrs_attrs__"):
        value = value.__dict__.values()
    elif kind is not list and kind is not tuple:
        return True
    for item in value:
        kind = type(item)
        if kind is not str and kind is not int and not _finite(item):
            return False
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


# -- events ------------------------------------------------------------------------------------


def encode(event: Event) -> bytes:
    """The payload of an event.

    Raises:
        ValueError: a field holds what canonical JSON cannot; the message names the path.
    """
    unstructure = _UNSTRUCTURE[type(event)]
    try:
        data = orjson.dumps(event.__dict__, _fields, _OPTIONS)
        if b"null" not in data or _finite(event):
            return data
    except TypeError:
        pass  # The slow way knows the path of what is wrong.
    try:
        return canonical(unstructure(event))
    except ValueError as error:
        raise ValueError(f"{type(event).__name__}: {error}") from None


def _fields(record: Any) -> dict[str, Any]:
    """The fields of a record inside an event, for orjson, which knows no attrs classes."""
    if not hasattr(record, "__attrs_attrs__"):
        raise TypeError(f"{type(record).__name__} is not JSON")
    fields: dict[str, Any] = record.__dict__
    return fields


def decode(type_name: str, schema_version: int, payload: bytes) -> Event:
    """The event a payload records, lifted to the current schema version.

    Raises:
        LogError: unknown type, newer schema version, or a payload that does not have the fields
            and exact types of its version; the message names the path.
    """
    cls = event_class(type_name, schema_version)
    try:
        fields = orjson.loads(payload)
        if schema_version != cls.SCHEMA_VERSION:
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
