"""Charts with two axes: pure functions from numbers to inline SVG with a title and a description.

Which figure of the paper each is for says its docstring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from markupsafe import Markup

from . import drawing
from .drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Axis,
    Scale,
    element,
    path,
    picture,
    words,
)
from .row_charts import Spread

_COLOURS: Final = 6


@attrs.frozen(kw_only=True)
class Series:
    """A named line of a chart, with a band from ``low`` to ``high`` if it has one."""

    name: str
    points: tuple[tuple[float, float], ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


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


# -- parts of charts ---------------------------------------------------------------------------


def _frame(across: Axis, up: Axis, top: float) -> tuple[Scale, Scale, float]:
    """The scales of a chart whose drawing begins at ``top``, and the height of it all."""
    height = HEIGHT + top - 10
    x = across.scale(LEFT, WIDTH - RIGHT)
    return x, up.scale(height - BOTTOM, top), height


def _colour(number: int, kind: str = "line") -> str:
    """The class of a line, a band or a dot by its number.

    Colours begin again when they run out, with broader lines.
    """
    again, at = divmod(number, _COLOURS)
    name = f"{kind}-{at + 1}" if at else kind
    return f"{name} again" if again else name


def _band(number: int, series: Series, x: Scale, y: Scale) -> Markup:
    at = [x(place) for place, _ in series.points]
    upper = zip(at, map(y, series.high), strict=True)
    lower = zip(reversed(at), map(y, reversed(series.low)), strict=True)
    return element("path", class_=_colour(number, "band"), d=path([*upper, *lower], closed=True))
