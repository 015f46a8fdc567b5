"""Charts of named rows, one for each run: inline SVG with a title and a description.

Which figure of the paper each is for says its docstring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs
from markupsafe import Markup

from . import drawing
from .drawing import LINE, WIDTH, Axis, Scale, element, picture, words
from .rendering import share


@attrs.frozen(kw_only=True)
class Spread:
    """A named row of a chart: a value between two others, and what to say of it."""

    name: str
    low: float
    value: float
    high: float
    says: str


@attrs.frozen(kw_only=True)
class Pair:
    """A named row of a chart: two shares to compare, and what to say of them."""

    name: str
    hollow: float
    filled: float
    says: str


@attrs.frozen(kw_only=True)
class Parts:
    """A named row of a chart: a whole in parts, each a class of the style and a share of it."""

    name: str
    parts: tuple[tuple[str, float], ...]


def stacks(title: str, desc: str, rows: Sequence[Parts]) -> Markup:
    """A bar for each row, divided into its parts (Fig. 5)."""
    kinds = list(dict.fromkeys(kind for row in rows for kind, _ in row.parts))
    key, top = drawing.legend([(f"fill-{kind}", kind) for kind in kinds], left=0)
    parts = [*key]
    x = Scale(0, 1, 0, WIDTH)
    y = top + 6
    for row in rows:
        if row.name:
            parts.append(words(0, y + 12, drawing.fitting(row.name, WIDTH), muted=False))
            y += LINE
        before = 0.0
        for kind, value in row.parts:
            left, right = x(before), x(before + value)
            bar = {"x": left, "y": y, "width": right - left, "height": 26}
            parts.append(element("rect", class_=f"fill-{kind}", opacity=0.75, **bar))
            before += value
        y += 26
        parts += _under(row, x, y + 15)
        y += 30
    return picture(title, desc, y, parts)


def _under(row: Parts, x: Scale, y: float) -> Iterator[Markup]:
    """The shares below a bar, each where its part begins or as near as there is room."""
    before, taken = 0.0, 0.0
    for kind, value in row.parts:
        says = share(value)
        wide = drawing.width_of(says)
        left = min(max(x(before), taken), WIDTH - wide)
        before += value
        if value and left >= taken:
            yield element("text", says, x=left, y=y, font_size=drawing.FONT, class_=f"fill-{kind}")
            taken = left + wide + 8


def pairs(title: str, desc: str, rows: Sequence[Pair], names: tuple[str, str]) -> Markup:
    """Two shares a row, a hollow and a filled dot, with what is between them said (Fig. 2)."""
    axis = drawing.shares("", max(max(row.hollow, row.filled) for row in rows))
    x = axis.scale(10, WIDTH - 24)
    parts = [
        element("circle", class_="hollow", cx=6, cy=8, r=5),
        words(18, 12, names[0]),
        element("circle", class_="dot", cx=36 + drawing.width_of(names[0]), cy=8, r=5),
        words(48 + drawing.width_of(names[0]), 12, names[1]),
    ]
    y = 30.0
    for row in rows:
        parts += _named(row.name, row.says, y)
        y += LINE + 10
        ends = {"x1": x(row.hollow), "x2": x(row.filled), "y1": y, "y2": y}
        parts.append(element("line", class_="grid", x1=x.start, x2=x.end, y1=y, y2=y))
        parts.append(element("line", class_="line", **ends))
        parts.append(element("circle", class_="hollow", cx=x(row.hollow), cy=y, r=6))
        parts.append(element("circle", class_="dot", cx=x(row.filled), cy=y, r=6))
        y += 22
    parts += drawing.bottom(x, y, axis)
    return picture(title, desc, y + 24, parts)


def whiskers(title: str, desc: str, rows: Sequence[Spread], axis: Axis) -> Markup:
    """A value a row between two others (Fig. 7, and paired differences)."""
    x = axis.scale(10, WIDTH - 24)
    y = 4.0
    parts = []
    if axis.low < 0 < axis.high:
        bottom = y + len(rows) * (LINE + 32)
        parts.append(element("line", class_="diagonal", x1=x(0), x2=x(0), y1=y, y2=bottom))
    for row in rows:
        parts += _named(row.name, row.says, y)
        y += LINE + 10
        parts.append(element("line", class_="whisker", x1=x(row.low), x2=x(row.high), y1=y, y2=y))
        for end in (row.low, row.high):
            at = x(end)
            parts.append(element("line", class_="whisker", x1=at, x2=at, y1=y - 5, y2=y + 5))
        parts.append(element("circle", class_="dot", cx=x(row.value), cy=y, r=5))
        y += 22
    parts += drawing.bottom(x, y, axis)
    return picture(title, desc, y + (38 if axis.name else 24), parts)


def bars(title: str, desc: str, rows: Sequence[tuple[str, float, str]], high: float) -> Markup:
    """Lying bars: what each is, its value, and what is written on it (Fig. 3)."""
    x = Scale(0, high or 1, 0, WIDTH)
    y = 4.0
    parts: list[Markup] = []
    for name, value, says in rows:
        parts += _named(name, says, y)
        y += LINE + 2
        parts.append(element("rect", class_="rail", x=0, y=y, width=WIDTH, height=10))
        parts.append(element("rect", class_="bar", x=0, y=y, width=x(value), height=10))
        y += 24
    return picture(title, desc, y, parts)


def _named(name: str, says: str, y: float) -> Iterable[Markup]:
    """What a row is at the left, and what there is to say of it at the right."""
    room = WIDTH - drawing.width_of(says) - 12
    if name:
        yield words(0, y + 12, drawing.fitting(name, room), muted=False)
    yield words(WIDTH, y + 12, says, anchor="end")
