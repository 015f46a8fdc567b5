"""The blame of a memory as `blame` shows it: a line for each phrase and each condition."""

from __future__ import annotations

from collections.abc import Sequence

from ..projections.blame import Blame, Line
from .layout import Screen, Span
from .printing import heading, shown
from .widths import at_left, at_right, columns_of


def print_blame(found: Blame, screen: Screen) -> None:
    """A memory line by line, each after the event that put it there."""
    # Between words that came with two versions there is white space of a third: nothing to see.
    phrases = [line for line in found.phrases if not line.text.isspace()]
    lines = [*phrases, *found.conditions, *found.withdrawn]
    rows = [_cells(line) for line in lines]
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    screen.put(Span(heading(found.memory), "heading"))
    there = len(lines) - len(found.withdrawn)
    for number, (line, cells) in enumerate(zip(lines, rows, strict=True)):
        if number == there:
            screen.put(Span("withdrawn", "heading"))
        before = _padded(cells, widths)
        style = "made" if line.version > 1 and line.kind == "rule" else ""
        screen.put(Span(line.text.strip(), style), first=before, rest=" " * columns_of(before))


def _cells(line: Line) -> tuple[str, ...]:
    return (
        f"[{line.position}]",
        "between" if line.task_index is None else f"t{line.task_index}",
        f"v{line.version}",
        _who(line),
        line.kind.replace("_", " "),
    )


def _who(line: Line) -> str:
    match line.source:
        case "repair":
            return f"repair, candidate {line.by}"
        case "override":
            return f"override by {shown(line.by)}"
        case _:
            return line.source


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The cells of a line in their columns, positions to the right."""
    return "  ".join([at_right(cells[0], widths[0]), *map(at_left, cells[1:], widths[1:]), ""])
