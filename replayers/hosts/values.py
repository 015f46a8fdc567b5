"""The values of a team's file, each refused with its place if it is not what it should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...eventlog.errors import BadInput


def known(table: Any, keys: frozenset[str], place: str) -> None:
    """Refuse what is no table, and any key but ``keys``."""
    if not isinstance(table, Mapping):
        raise BadInput(f"{place} must be a table")
    for key in table:
        if key not in keys:
            raise BadInput(f"{place}: unknown key {key!r}; known: {', '.join(sorted(keys))}")


def text(value: Any, place: str) -> str:
    """A text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{place} is {value!r}; give a text")
    return value


def one_line(value: Any, place: str) -> str:
    """A name, one line: it stands before what its role says and in lists.

    Raises:
        BadInput: it is something else, or has a line break or another control character in it.
    """
    found = text(value, place)
    if not found.isprintable():
        raise BadInput(f"{place} is {found!r}; give a name on one line")
    return found


def texts(value: Any, place: str) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list):
        raise BadInput(f"{place} is {value!r}; give a list of texts")
    return [text(each, place) for each in value]
