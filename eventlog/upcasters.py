"""Reading old payloads: one pure function per step from a schema version to the next.

Stored bytes are never rewritten and their hashes stay over what was stored; a payload is lifted to
the current shape only on its way into an event class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import LogError
from .events import EVENT_TYPES, Event

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]

UPCASTERS: dict[tuple[str, int], Upcaster] = {}


def upcaster(type_name: str, version: int) -> Callable[[Upcaster], Upcaster]:
    """Register a function that lifts a payload from ``version`` to ``version + 1``.

    Raises:
        ValueError: that step has a function already.
    """

    def register(step: Upcaster) -> Upcaster:
        if (type_name, version) in UPCASTERS:
            raise ValueError(f"two upcasters for {type_name} version {version}")
        UPCASTERS[type_name, version] = step
        return step

    return register


def upcast(type_name: str, version: int, payload: Payload) -> Payload:
    """Lift a payload of a known type to the current schema version of that type."""
    for step in range(version, EVENT_TYPES[type_name].SCHEMA_VERSION):
        payload = UPCASTERS[type_name, step](payload)
    return payload


def event_class(type_name: str, version: int) -> type[Event]:
    """The class an event of this type and schema version is read into.

    Raises:
        LogError: the type is unknown, or the version is not one this code can read.
    """
    cls = EVENT_TYPES.get(type_name)
    if cls is None:
        raise LogError(
            f"unknown event type {type_name!r}: the log was written by another version of "
            "discernmem; read it with that one"
        )
    if not 1 <= version <= cls.SCHEMA_VERSION:
        raise LogError(
            f"{type_name} has schema version {version} in the log, this code reads up to "
            f"{cls.SCHEMA_VERSION}; install the discernmem that wrote it"
        )
    return cls


def check(types: Mapping[str, type[Event]], steps: Mapping[tuple[str, int], Upcaster]) -> None:
    """Refuse a set of upcasters that does not lead every old version to the current one.

    Raises:
        ValueError: a step is missing, or belongs to no type or to no earlier version.
    """
    needed = {(name, v) for name, cls in types.items() for v in range(1, cls.SCHEMA_VERSION)}
    for name, version in sorted(needed - steps.keys()):
        raise ValueError(f"no upcaster for {name} from version {version}")
    for name, version in sorted(steps.keys() - needed):
        raise ValueError(f"upcaster for {name} from version {version}, which leads nowhere")


@upcaster("ModelReplied", 1)
def _long_answers(payload: Payload) -> Payload:
    """Version 1 kept every text inline and sampled with a fixed nucleus of 0.95."""
    return payload | {"text_blob": None, "finish": "stop", "top_p": 0.95}


@upcaster("ExecutionFinished", 1)
def _gradings(payload: Payload) -> Payload:
    """Version 1 kept no words on how a score came about."""
    return payload | {"grading": {}}


check(EVENT_TYPES, UPCASTERS)
