"""The charts of a report: pure functions from numbers to inline SVG with a title and a description.

Which figure of the paper each is for says its docstring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, get_args

import attrs
from markupsafe import Markup

from ..eventlog.events import Sign
from ..projections.lifeline import Line
from . import drawing
from .drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LINE,
    RIGHT,
    WIDTH,
    Axis,
    Scale,
    element,
    path,
    picture,
    words,
)

Points = Sequence[tuple[float, float]]

_COLOURS: Final = 6
_STRIP: Final = 160
_STRIP_HEIGHT: Final = 16
_STRIP_HEIGHTS: Final = {"active": 8, "provisional": 5, "inactive": 2}


@attrs.frozen(kw_only=True)
class Series:
    """A named line of a chart, with a band from ``low`` to ``high`` if it has one."""

    name: str
    points: tuple[tuple[float, float], ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


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


# -- over the stream ---------------------------------------------------------------------------


def lines(
    title: str,
    desc: str,
    series: Sequence[Series],
    across: Axis,
    up: Axis,
    *,
    diagonal: bool = False,
) -> Markup:
    """Lines with bands; with ``diagonal`` that of uniform reuse (Fig. 6)."""
    names = [(_colour(n), each.name) for n, each in enumerate(series) if each.name]
    key, top = drawing.legend(names)
    top += 10
    x, y, height = _frame(across, up, top)
    parts = [*key, *drawing.grid(x, y, across, up)]
    if diagonal:
        ends = [(x.start, y.start), (x.end, y.end)]
        parts.append(element("path", class_="diagonal", d=path(ends)))
    for number, each in enumerate(series):
        if each.low:
            parts.append(_band(number, each, x, y))
    for number, each in enumerate(series):
        places = [(x(at), y(value)) for at, value in each.points]
        if len(places) > 1:
            parts.append(element("path", class_=_colour(number), d=path(places)))
        else:
            parts += [
                element("circle", class_=_colour(number, "dot"), cx=cx, cy=cy, r=4)
                for cx, cy in places
            ]
    return picture(title, desc, height, parts)


def areas(
    title: str,
    desc: str,
    layers: Sequence[tuple[str, Sequence[float]]],
    at: Sequence[float],
    across: Axis,
    up: Axis,
) -> Markup:
    """Layers upon each other, each a name that is also a state of the style (Fig. 3a, 5)."""
    key, top = drawing.legend([(f"fill-{name}", name) for name, _ in layers])
    top += 10
    x, y, height = _frame(across, up, top)
    parts = [*key, *drawing.grid(x, y, across, up)]
    below = [0.0] * len(at)
    for name, values in layers:
        above = [low + value for low, value in zip(below, values, strict=True)]
        upper = [(x(place), y(value)) for place, value in zip(at, above, strict=True)]
        lower = [(x(place), y(value)) for place, value in zip(at, below, strict=True)]
        outline = path([*upper, *reversed(lower)], closed=True)
        parts.append(element("path", class_=f"fill-{name}", opacity=0.75, d=outline))
        below = above
    return picture(title, desc, height, parts)


# -- by value ----------------------------------------------------------------------------------


def columns(title: str, desc: str, bars: Sequence[tuple[str, float, str]], across: str) -> Markup:
    """Upright bars: what each is, its value, and what is written on it (Fig. 7, 8)."""
    top, height = 22.0, HEIGHT - 20.0
    floor = height - BOTTOM
    y = Scale(0, max((value for _, value, _ in bars), default=0) or 1, floor, top)
    x = Scale(0, len(bars), 8, WIDTH - 8)
    parts = []
    for number, (name, value, says) in enumerate(bars):
        left, right = x(number), x(number + 1)
        wide = min((right - left) * 0.72, 70)
        middle = (left + right) / 2
        parts.append(
            element(
                "rect",
                class_="bar",
                x=middle - wide / 2,
                y=y(value),
                width=wide,
                height=floor - y(value),
            )
        )
        parts.append(words(middle, y(value) - 5, says, anchor="middle", muted=False))
        parts.append(words(middle, floor + 15, name, anchor="middle"))
    parts.append(element("line", class_="axis", x1=x.start, x2=x.end, y1=floor, y2=floor))
    parts.append(words(WIDTH / 2, floor + 32, across, anchor="middle"))
    return picture(title, desc, height, parts)


def sweep(title: str, desc: str, points: Sequence[Spread], across: str, up: Axis) -> Markup:
    """A score by the value of a setting with its interval, the highest marked (Fig. 4, 9)."""
    at = [float(point.name) for point in points]
    x_axis = drawing.values(across, at)
    x, y, height = _frame(x_axis, up, 24)
    best = max(point.value for point in points)
    parts = [*drawing.grid(x, y, x_axis, up)]
    parts.append(
        element(
            "path",
            class_="line",
            d=path([(x(place), y(point.value)) for place, point in zip(at, points, strict=True)]),
        )
    )
    for place, point in zip(at, points, strict=True):
        cx, cy = x(place), y(point.value)
        parts.append(
            element("line", class_="whisker", x1=cx, x2=cx, y1=y(point.low), y2=y(point.high))
        )
        if point.value == best:
            parts.append(element("circle", class_="best", cx=cx, cy=cy, r=8))
        parts.append(element("circle", class_="dot", cx=cx, cy=cy, r=4))
        half = drawing.width_of(point.says) / 2
        middle = min(cx, WIDTH - half)
        parts.append(
            words(middle, y(point.high) - 6, point.says, anchor="middle", muted=point.value != best)
        )
    return picture(title, desc, height, parts)


# -- one row a run -----------------------------------------------------------------------------


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
    """The shares below a bar, as far as there is room."""
    before, taken = 0.0, 0.0
    for kind, value in row.parts:
        left, right = max(x(before), taken), x(before + value)
        says = drawing.percent(value)
        wide = drawing.width_of(says)
        before += value
        if value and left + wide <= WIDTH and (right - left >= wide or left + wide <= WIDTH):
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


# -- a small life line -------------------------------------------------------------------------


def strip(line: Line, name: str) -> Markup:
    """The life of a memory in a table: a band as high as its state, below it each effect's sign."""
    x = Scale(0, line.tasks, 0, _STRIP)
    ends = [each.after for each in line.stretches[1:]] + [max(line.done, line.stretches[-1].after)]
    shapes: dict[str, str] = {}
    for stretch, end in zip(line.stretches, ends, strict=True):
        high = _STRIP_HEIGHTS[stretch.state]
        left = round(x(stretch.after))
        wide = max(round(x(end)) - left, 1)
        looks = f"fill-{stretch.state}"
        shapes[looks] = shapes.get(looks, "") + f"M{left} {8 - high}h{wide}v{high}h-{wide}z"
    turns = "".join(
        f"M{round(x(after.after))} 0v9"
        for before, after in pairwise(line.stretches)
        if after.version != before.version
    )
    if turns:
        shapes["turn"] = turns
    for sign in get_args(Sign):
        places = {round(x(max(mark.after - 0.5, 0))) for mark in line.marks if mark.sign == sign}
        if places:
            shapes[f"fill-{sign}"] = "".join(f"M{at} 10h2v6h-2z" for at in sorted(places))
    parts = [element("path", class_=looks, d=data) for looks, data in shapes.items()]
    return element(
        "svg",
        Markup("").join([element("title", f"life of {name}"), *parts]),
        viewBox=f"0 0 {_STRIP} {_STRIP_HEIGHT}",
        width=_STRIP,
        height=_STRIP_HEIGHT,
        class_="strip",
        role="img",
    )


# -- parts of charts ---------------------------------------------------------------------------


def _frame(across: Axis, up: Axis, top: float) -> tuple[Scale, Scale, float]:
    """The scales of a chart whose drawing begins at ``top``, and the height of it all."""
    height = HEIGHT + top - 10
    x = across.scale(LEFT, WIDTH - RIGHT)
    return x, up.scale(height - BOTTOM, top), height


def _colour(number: int, kind: str = "line") -> str:
    """The class of a line, a band or a dot by its number; colours begin again when they run out."""
    at = number % _COLOURS
    return f"{kind}-{at + 1}" if at else kind


def _band(number: int, series: Series, x: Scale, y: Scale) -> Markup:
    at = [x(place) for place, _ in series.points]
    upper = zip(at, map(y, series.high), strict=True)
    lower = zip(reversed(at), map(y, reversed(series.low)), strict=True)
    return element("path", class_=_colour(number, "band"), d=path([*upper, *lower], closed=True))


def _named(name: str, says: str, y: float) -> Iterable[Markup]:
    """What a row is at the left, and what there is to say of it at the right."""
    room = WIDTH - drawing.width_of(says) - 12
    if name:
        yield words(0, y + 12, drawing.fitting(name, room), muted=False)
    yield words(WIDTH, y + 12, says, anchor="end")
