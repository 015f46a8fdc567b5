"""Mutable containers that exist on both sides of a wire and are kept alike."""

from __future__ import annotations

from typing import Any

from .wire import Node, contents, fill


class Shared:
    """A registry of containers by number; both sides hold one with the same numbers."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._parts: dict[int, list[Any]] = {}

    def put(self, number: int, container: Any) -> None:
        """Share a container from now on, as it is."""
        self._objects[number] = container
        self._numbers[id(container)] = number
        self._parts[number] = contents(container)

    def drop(self, number: int) -> None:
        """Share it no longer."""
        container = self._objects.pop(number, None)
        self._parts.pop(number, None)
        self._numbers.pop(id(container), None)

    def get(self, number: Any) -> Any:
        """The container of a number; raises KeyError."""
        return self._objects[number]

    def node(self, container: Any) -> Node | None:
        """How to refer to a container on the wire, if it is shared."""
        number = self._numbers.get(id(container))
        return None if number is None else ["shared", number]

    def changed(self) -> list[tuple[int, list[Any]]]:
        """Number and new parts of each container that changed since both sides were alike."""
        found = []
        for number, container in self._objects.items():
            parts = contents(container)
            if not _same(parts, self._parts[number]):
                found.append((number, parts))
        for number, parts in found:
            self._parts[number] = parts
        return found

    def change(self, number: int, parts: list[Any]) -> None:
        """Do here what was done there."""
        fill(self._objects[number], parts)
        self._parts[number] = contents(self._objects[number])


def _same(one: list[Any], other: list[Any]) -> bool:
    """Whether the very same objects follow each other; no foreign comparison is called."""
    return len(one) == len(other) and all(map(_is, one, other))


def _is(one: Any, other: Any) -> bool:
    return one is other
