"""How lines fit a terminal: colours, and wrapping with what hangs in front of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import attrs
import click

from ..projections.words import Piece
from .drawing import is_terminal
from .printing import shown
from .widths import columns_of, columns_of_letter

_STYLES: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "heading": {"bold": True},
    "quiet": {"dim": True},
    "gone": {"fg": "red", "strikethrough": True},
    "new": {"fg": "green", "underline": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "open": {"fg": "yellow"},
    "apart": {"fg": "magenta"},
    "made": {"fg": "cyan"},
}
_MARKS: Final = {"gone": ("[-", "-]"), "new": ("{+", "+}")}
NARROWEST: Final = 20
"""Columns a text gets at least, however deep it stands."""


@attrs.frozen
class Span:
    """A part of a line in one style."""

    text: str
    style: str = ""


def difference(pieces: Sequence[Piece]) -> tuple[Span, ...]:
    """A word diff as a part of a line."""
    return tuple(Span(p.text, "" if p.kind == "same" else p.kind) for p in pieces)


@attrs.frozen
class Screen:
    """Where lines go: ``width`` columns, or as long as they come, with or without colours."""

    width: int | None
    colour: bool

    def put(self, *spans: Span, first: str = "", rest: str = "") -> None:
        """Print a line with ``first`` before it, and ``rest`` before what did not fit on it."""
        click.echo("\n".join(self.lines(*spans, first=first, rest=rest)), color=self.colour)

    def lines(self, *spans: Span, first: str = "", rest: str = "") -> Iterator[str]:
        """The lines that `put` prints."""
        marked = [self._marked(span) for span in spans]
        wrapped = [marked] if self.width is None else _wrapped(marked, *self._room(first, rest))
        for number, line in enumerate(wrapped):
            hanging = self._painted(Span(rest if number else first, "quiet"))
            yield (hanging + "".join(map(self._painted, line))).rstrip()

    def _room(self, *hanging: str) -> Iterator[int]:
        """Columns that are left beside what hangs in front."""
        assert self.width is not None
        for text in hanging:
            yield max(self.width - columns_of(text), NARROWEST)

    def _marked(self, span: Span) -> Span:
        """What a span shows; without colours a difference is put between marks."""
        text = shown(span.text)
        if not self.colour and span.style in _MARKS:
            text = text.join(_MARKS[span.style])
        return span if text is span.text else Span(text, span.style)

    def _painted(self, span: Span) -> str:
        style = _STYLES[span.style]
        return click.style(span.text, **style) if self.colour and style and span.text else span.text


def screen() -> Screen:
    """The screen that standard output is.

    Lines are wrapped on a terminal only. There are colours on a terminal, unless NO_COLOR is set,
    and elsewhere if FORCE_COLOR is; NO_COLOR wins.
    """
    terminal = is_terminal(sys.stdout)
    width = shutil.get_terminal_size().columns if terminal else None
    if os.environ.get("NO_COLOR"):
        return Screen(width, colour=False)
    plain = not terminal or os.environ.get("TERM") == "dumb"
    return Screen(width, colour=bool(os.environ.get("FORCE_COLOR")) or not plain)


def _wrapped(spans: Sequence[Span], room: int, later: int) -> Iterator[Sequence[Span]]:
    """The spans on lines of at most ``room`` columns, ``later`` from the second on.

    They are broken at spaces or, if need be, in words.
    """
    if sum(columns_of(span.text) for span in spans) <= room:
        yield spans
        return
    line: list[tuple[str, str]] = []
    used, space = 0, -1
    for letter, style in ((letter, span.style) for span in spans for letter in span.text):
        width = columns_of_letter(letter)
        if used + width > room and line:
            end = len(line) if letter == " " or space < 1 else space
            yield _joined(line[:end])
            line = line[end + 1 :]
            used, space, room = sum(columns_of_letter(each) for each, _ in line), -1, later
        if letter != " ":
            line.append((letter, style))
            used += width
        elif line:
            space = len(line)
            line.append((letter, style))
            used += width
    yield _joined(line)


def _joined(letters: Sequence[tuple[str, str]]) -> Sequence[Span]:
    return [
        Span("".join(letter for letter, _ in run), style)
        for style, run in groupby(letters, lambda letter: letter[1])
    ]
