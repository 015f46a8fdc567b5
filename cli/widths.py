"""How many columns of a terminal a text takes, and texts filled up to so many."""

from __future__ import annotations

from functools import cache


def columns_of(text: str) -> int:
    """How many columns a terminal needs for a text."""
    return len(text) if text.isascii() else sum(map(columns_of_letter, text))


@cache
def columns_of_letter(letter: str) -> int:
    """0 for what is drawn on the letter before it, 2 for a wide letter, else 1."""
    from rich.cells import get_character_cell_size

    return get_character_cell_size(letter)


def at_left(text: str, width: int) -> str:
    """The text at the left of so many columns."""
    return text + " " * (width - columns_of(text))


def at_right(text: str, width: int) -> str:
    """The text at the right of so many columns."""
    return " " * (width - columns_of(text)) + text
