"""Memories, effects and task records as canonical JSON and back, piece by piece.

A memory and its effects change at different events and are therefore encoded apart: `spliced` puts
them together into exactly the bytes that encoding them at once would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, get_origin

import cattrs
import orjson
from immutables import Map

from ..eventlog.codec import canonical
from .evidence import Effect
from .history import TaskRecord
from .store import Memory

Buffer = bytes | memoryview

_EFFECTS: Final = "effects"
"""The key under which a memory's effects stand among its fields."""


def _is_map(kind: object) -> bool:
    return get_origin(kind) == Map


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=False)
    converter.register_structure_hook_func(_is_map, lambda value, _: Map(value))
    converter.register_unstructure_hook_func(_is_map, dict)
    return converter


_CONVERTER: Final = _converter()


def encode(record: Effect | TaskRecord) -> bytes:
    """An effect or a task record as canonical JSON."""
    return canonical(_CONVERTER.unstructure(record))


def encode_memory(memory: Memory) -> tuple[bytes, int]:
    """A memory without effects as canonical JSON, and the offset at which they belong into it."""
    fields: dict[str, Any] = _CONVERTER.unstructure(memory)
    # Sorted keys make the two halves, end to end, the canonical form of the whole.
    before = canonical({name: value for name, value in fields.items() if name < _EFFECTS})
    after = canonical({name: value for name, value in fields.items() if name > _EFFECTS})
    return b"%b,%b" % (before[:-1], after[1:]), len(before) - 1


def spliced(memory: bytes, offset: int, effects: Iterable[Sequence[bytes]]) -> bytes:
    """The canonical JSON of a memory with its effects.

    Args:
        memory: what `encode_memory` made of it.
        offset: likewise.
        effects: the encoded effects of version 1, of version 2, up to the newest.
    """
    versions = b",".join(
        b'{"effects":[%b],"version":%d}' % (b",".join(each), number)
        for number, each in enumerate(effects, start=1)
    )
    return b'%b,"%b":[%b]%b' % (memory[:offset], _EFFECTS.encode(), versions, memory[offset:])


def chunks(state_version: int, memories: Iterable[Buffer]) -> Iterator[Buffer]:
    """The canonical JSON of a store, in pieces: its spliced memories in order of admission."""
    separator = b'{"memories":['
    for memory in memories:
        yield separator
        yield memory
        separator = b","
    if separator != b",":
        yield separator
    yield b'],"state_version":%d}' % state_version


def decode_memory(data: bytes) -> Memory:
    """The memory that `encode_memory` encoded.

    Raises:
        ValueError, KeyError, TypeError: it is not one.
    """
    return _CONVERTER.structure(orjson.loads(data), Memory)


def decode_effect(data: bytes) -> Effect:
    """The effect that `encode` encoded; as `decode_memory`."""
    return _CONVERTER.structure(orjson.loads(data), Effect)


def decode_task(data: bytes) -> TaskRecord:
    """The task record that `encode` encoded; as `decode_memory`."""
    return _CONVERTER.structure(orjson.loads(data), TaskRecord)
