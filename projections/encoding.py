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

_KEY: Final = b',"effects":['
_BEGIN: Final = b'{"effects":['


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


def joined(effects: Iterable[Buffer]) -> bytes:
    """Encoded effects of one version in order, single or joined before, as one."""
    return b",".join(each for each in effects if each)


def spliced(memory: bytes, offset: int, effects: Sequence[bytes]) -> bytes:
    """The canonical JSON of a memory with its effects.

    Args:
        memory: what `encode_memory` made of it.
        offset: likewise.
        effects: of version 1, of version 2, up to the newest, each `joined`.
    """
    versions = b",".join(
        b"%b%b%b" % (_BEGIN, each, _end(number)) for number, each in enumerate(effects, start=1)
    )
    return b"%b%b%b]%b" % (memory[:offset], _KEY, versions, memory[offset:])


def unspliced(memory: Buffer, offset: int, sizes: Iterable[int]) -> Iterator[Buffer]:
    """The effects `spliced` put into ``memory``, by how many bytes those of each version were."""
    at = offset + len(_KEY)
    for number, size in enumerate(sizes, start=1):
        at += len(_BEGIN)
        yield memory[at : at + size]
        at += size + len(_end(number)) + len(b",")


def _end(version: int) -> bytes:
    return b'],"version":%d}' % version


def chunks(state_version: int, memories: Iterable[Buffer]) -> Iterator[Buffer]:
    """The canonical JSON of a store, in pieces.

    Args:
        state_version: of the form.
        memories: encoded with their effects, in order; several with commas between them may be one.
    """
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
        Exception: it is none.
    """
    return _CONVERTER.structure(orjson.loads(data), Memory)


def decode_effect(data: bytes) -> Effect:
    """The effect that was encoded; as `decode_memory`."""
    return _CONVERTER.structure(orjson.loads(data), Effect)


def decode_task(data: bytes) -> TaskRecord:
    """The task record that was encoded; as `decode_memory`."""
    return _CONVERTER.structure(orjson.loads(data), TaskRecord)
