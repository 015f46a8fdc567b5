"""Texts from anywhere as they may be shown: whatever cannot be seen is written as an escape."""

from __future__ import annotations

from typing import Final
from unicodedata import category

_KEPT: Final = "\t\r\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def visible(text: str) -> str:
    """A text in which nothing is hidden and nothing changes what is around it; lines stay lines.

    A character that turns the direction of writing would turn the numbers beside it as well, and
    one that is not seen hides words a model reads; only the joiners that scripts and emoji are
    made with stay.
    """
    if text.isprintable():
        return text
    return "\n".join(
        line if line.isprintable() else "".join(map(_seen, line)) for line in text.split("\n")
    )


def _seen(letter: str) -> str:
    if letter.isprintable() or letter in _KEPT:
        return letter
    # What a newer Unicode has assigned is not unseen, but some places are for no character ever.
    if category(letter) in ("Cn", "Co", "Zs") and not _is_no_character(ord(letter)):
        return letter
    return letter.encode("unicode_escape", "backslashreplace").decode("ascii")


def _is_no_character(code: int) -> bool:
    return 0xFDD0 <= code < 0xFDF0 or code & 0xFFFE == 0xFFFE
