"""What charts are drawn with: scales, axes and elements of SVG.

All sizes are units of a drawing `WIDTH` wide, that fits a phone; colours are classes of the style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10
from typing import Final

import attrs
from markupsafe import Markup

from ..projections.visible import visible
from .rendering import count

WIDTH: Final = 420
HEIGHT: Final = 250
LEFT: Final = 44
RIGHT: Final = 14
BOTTOM: Final = 38
LINE: Final = 18
"""Height of a line of words."""
FONT: Final = 12
_WHOLE: Final = (1, 2, 5, 10)
_ROUND: Final = (1, 2, 2.5, 5, 10)
_LETTER: Final = 6.6
"""Width of a letter, about; what does not fit is cut."""


@attrs.frozen
class Scale:
    """From values to places in a drawing; ``low`` is at ``start`` and ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value is."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = log10(low), log10(high), log10(value)
        part = (value - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)


@attrs.frozen
class Axis:
    """What an axis says: its name, the values at its ends, and the values named along it."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def scale(self, start: float, end: float) -> Scale:
        """The scale of this axis between two places."""
        return Scale(self.low, self.high, start, end, self.log)


# -- axes --------------------------------------------------------------------------------------


def scores(name: str, values: Iterable[float]) -> Axis:
    """An axis of scores and their differences, not narrower than a tenth."""
    found = list(values)
    low, high = min(found, default=0.0), max(found, default=1.0)
    room = max((high - low) * 0.08, (0.12 - (high - low)) / 2)
    # There is no score below 0 or above 1, so an axis of such has no place for one either.
    low = low - room if low < 0 else max(low - room, 0.0)
    high = high + room if high > 1 else min(high + room, 1.0)
    step = _step(low, high, _ROUND if high - low > 0.5 else _WHOLE)
    return Axis(name, low, high, tuple((v, f"{v:.2f}") for v in _multiples(low, high, step)))


def shares(name: str, high: float = 1.0) -> Axis:
    """An axis of shares from none on, to at least so much of the whole."""
    top = next(each for each in (0.1, 0.2, 0.5, 1.0) if each >= min(high, 1.0))
    parts = 4 if top in (0.2, 1.0) else 5
    ticks = tuple((top * part / parts, f"{top * part / parts:.0%}") for part in range(parts + 1))
    return Axis(name, 0.0, top, ticks)


def counts(name: str, high: float, low: float = 0) -> Axis:
    """An axis of whole numbers."""
    step = max(_step(low, high, _WHOLE), 1)
    top = ceil(max(high, low + 1) / step) * step
    ticks = tuple((v, count(int(v))) for v in _multiples(low, top, step))
    return Axis(name, low, top, ticks)


def tasks(last: int, first: int = 0) -> Axis:
    """The axis of a task stream, as long as it is; where it ends is named."""
    step = max(_step(first, last, _WHOLE), 1)
    ticks = [(v, count(int(v))) for v in _multiples(first, last, step) if v > first]
    room = (last - first) * 0.09
    kept = [tick for tick in ticks if last - tick[0] > room]
    return Axis("task", first, max(last, first + 1), (*kept, (last, count(last))))


def ages(youngest: float) -> Axis:
    """An axis of shares of the stream by powers of ten, from about the youngest on."""
    lowest = min(floor(log10(youngest) + 1e-9), -1)
    powers = [10.0**power for power in range(lowest, 1)]
    return Axis("age", powers[0], 1.0, tuple((p, f"{p * 100:g}%") for p in powers), log=True)


def values(name: str, found: Sequence[float]) -> Axis:
    """An axis that names just the values there are."""
    low, high = min(found), max(found)
    room = (high - low) * 0.06 or 0.5
    return Axis(name, low - room, high + room, tuple((v, f"{v:g}") for v in found))


def _step(low: float, high: float, factors: Sequence[float]) -> float:
    """A round number that goes about four times between the two."""
    rough = max(high - low, 1e-9) / 4.5
    power = 10.0 ** floor(log10(rough))
    return float(next(power * each for each in factors if power * each >= rough * 0.999))


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(each * step, 9) + 0.0 for each in range(first, last + 1)]


# -- elements ----------------------------------------------------------------------------------


def element(name: str, content: str = "", /, **attributes: float | str) -> Markup:
    """An element; numbers have two decimals at most, and ``_`` in names is ``-``."""
    if not isinstance(content, Markup):
        content = visible(content)
    said = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), place(value))
        for key, value in attributes.items()
    )
    if not content:
        return Markup("<{}{}/>").format(name, said)
    return Markup("<{}{}>{}</{}>").format(name, said, content, name)


def place(value: float | str) -> str:
    """A number as short as two decimals allow; a text as it is."""
    if isinstance(value, str):
        return value
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """The data of a path through points."""
    return "M" + "L".join(f"{place(x)} {place(y)}" for x, y in points) + ("Z" if closed else "")


def words(x: float, y: float, said: str, *, anchor: str = "start", muted: bool = True) -> Markup:
    """A short text."""
    looks = {"class_": "label"} if muted else {}
    return element("text", said, x=x, y=y, text_anchor=anchor, font_size=FONT, **looks)


def fitting(said: str, room: float) -> str:
    """As much of a text as there is room for."""
    letters = max(int(room / _LETTER), 1)
    return said if len(said) <= letters else said[: letters - 1] + "…"


def width_of(said: str) -> float:
    """About how wide a text is."""
    return len(said) * _LETTER


def picture(title: str, desc: str, height: float, parts: Iterable[Markup]) -> Markup:
    """A whole drawing with what it is called and what it shows, in words."""
    return element(
        "svg",
        Markup("").join([element("title", title), element("desc", desc), *parts]),
        viewBox=f"0 0 {WIDTH} {place(height)}",
        width=WIDTH,
        height=height,
        role="img",
    )


# -- frames ------------------------------------------------------------------------------------


def grid(x: Scale, y: Scale, across: Axis, up: Axis) -> Iterator[Markup]:
    """The lines and words of two axes; ``x`` and ``y`` are their scales."""
    for value, said in up.ticks:
        at = y(value)
        yield element("line", class_="grid", x1=x.start, x2=x.end, y1=at, y2=at)
        yield words(x.start - 6, at + 4, said, anchor="end")
    yield from bottom(x, y.start, across)


def bottom(x: Scale, y: float, across: Axis) -> Iterator[Markup]:
    """The axis at the bottom, its name below it."""
    yield element("line", class_="axis", x1=x.start, x2=x.end, y1=y, y2=y)
    for value, said in across.ticks:
        at = x(value)
        half = width_of(said) / 2
        anchor = "end" if at + half > WIDTH - 4 else "middle"
        yield element("line", class_="axis", x1=at, x2=at, y1=y, y2=y + 4)
        yield words(min(at, WIDTH) if anchor == "middle" else WIDTH, y + 17, said, anchor=anchor)
    if across.name:
        yield words((x.start + x.end) / 2, y + 33, across.name, anchor="middle")


def legend(names: Sequence[tuple[str, str]], left: float = LEFT) -> tuple[list[Markup], float]:
    """What the lines or areas of a chart are, by (class, name), and how high that is."""
    parts: list[Markup] = []
    x, y = left, 12.0
    for looks, name in names:
        said = fitting(name, WIDTH - left - 34)
        if x > left and x + 26 + width_of(said) > WIDTH:
            x, y = left, y + LINE
        if looks.startswith("fill-"):
            parts.append(element("rect", class_=looks, x=x, y=y - 9, width=14, height=10))
        else:
            parts.append(element("line", class_=looks, x1=x, x2=x + 20, y1=y - 4, y2=y - 4))
        parts.append(words(x + 26, y, said))
        x += 26 + width_of(said) + 18
    return parts, y + 8 if names else 0.0
