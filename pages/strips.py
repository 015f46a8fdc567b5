"""A small life line: a memory's state, versions and effects in the width of a table's cell."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from markupsafe import Markup

from ..eventlog.events import Sign
from ..projections.lifeline import Line
from .drawing import Scale, element

_SIGNS: Final[tuple[Sign, ...]] = ("neutral", "positive", "negative")
_WIDTH: Final = 160
_HEIGHT: Final = 16
_LEAST: Final = 2
_HIGH: Final = {"active": 8, "provisional": 5, "inactive": 2}


def strip(line: Line, name: str) -> Markup:
    """The life of a memory in a table: a band as high as its state, below it each effect's sign."""
    x = Scale(0, line.tasks, 0, _WIDTH)
    # What has just begun is seen as well.
    begins = [min(round(x(each.after)), _WIDTH - _LEAST) for each in line.stretches]
    ends = [*begins[1:], max(round(x(line.begun)), begins[-1] + _LEAST)]
    shapes: dict[str, str] = {}
    for stretch, left, right in zip(line.stretches, begins, ends, strict=True):
        high = _HIGH[stretch.state]
        wide = max(right - left, 1)
        looks = f"fill-{stretch.state}"
        shapes[looks] = shapes.get(looks, "") + f"M{left} {8 - high}h{wide}v{high}h-{wide}z"
    turns = "".join(
        f"M{round(x(after.after))} 0v9"
        for before, after in pairwise(line.stretches)
        if after.version != before.version
    )
    if turns:
        shapes["turn"] = turns
    for sign in _SIGNS:
        places = {round(x(max(mark.after - 0.5, 0))) for mark in line.marks if mark.sign == sign}
        if places:
            shapes[f"fill-{sign}"] = "".join(f"M{at} 10h2v6h-2z" for at in sorted(places))
    parts = [element("path", class_=looks, d=data) for looks, data in shapes.items()]
    return element(
        "svg",
        Markup("").join([element("title", f"life of {name}"), *parts]),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        class_="strip",
        role="img",
    )
