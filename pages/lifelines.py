"""The life line of a memory as a picture: a band over the task stream, and what happened on it.

It is drawn as wide as there is room: what lies along the stream is stretched, texts are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

import attrs
from markupsafe import Markup

from ..eventlog import events as ev
from ..projections.lifeline import Line, Mark, Stretch
from ..projections.story import Story
from ..projections.visible import visible

Link = Callable[[str, object], str]
"""Kind and id of a thing to its address, empty where it has none."""

_SPAN: Final = 1000
"""Units along the stream, however wide it is drawn."""

_BINS: Final = 80
"""Places along the stream where marks are gathered, so that thousands make a small picture."""

_EACH: Final = 50
"""Bars that are still drawn one by one, each with its words and its link."""

_PHONE: Final = 340
"""Pixels there are at least, by which it is decided whether a text has room."""

_WIDEST: Final = 18
"""Units along the stream that a bar is wide at most."""

_LEAST: Final = 3
"""Units along the stream that a stretch is wide at least."""

_LETTER: Final = 7
_TOP, _BAND = 18, 24
_ROW, _BAR = 36, 12
_HEIGHTS: Final[dict[ev.State, int]] = {"active": 24, "provisional": 14, "inactive": 5}


@attrs.frozen
class _Row:
    """A row of marks: its name, the class that colours it, what belongs to it."""

    name: str
    colour: str
    holds: Callable[[Mark], bool]


_ROWS: Final = (
    _Row("supplied", "fill-accent", lambda mark: mark.kind == "supplied"),
    _Row("positive effect", "positive", lambda mark: mark.sign == "positive"),
    _Row("neutral effect", "neutral", lambda mark: mark.sign == "neutral"),
    _Row("negative effect", "negative", lambda mark: mark.sign == "negative"),
    _Row("label SCOPE", "SCOPE", lambda mark: mark.label == "SCOPE"),
    _Row("label CONTENT", "CONTENT", lambda mark: mark.label == "CONTENT"),
    _Row("new version", "provisional", lambda mark: mark.kind == "revised"),
    _Row("a person's decision", "provisional", lambda mark: mark.kind == "override"),
)


@attrs.frozen
class _Bar:
    """The marks of one row in one place along the stream."""

    place: int
    marks: tuple[Mark, ...]


def lifeline(story: Story, link: Link) -> Markup:
    """The life line of a memory as a figure of a page.

    From left to right the task stream; the band is high while the memory is active, half as high
    while provisional, low while inactive; below it a row for each thing that happened. Marks that
    are many are gathered, and then link nowhere.
    """
    line = story.line
    rows = [(row, _bars(line, row)) for row in _ROWS]
    rows = [(row, bars) for row, bars in rows if bars]
    height = _TOP + _BAND + 6 + _ROW * len(rows) + 22
    few = sum(len(bars) for _, bars in rows) <= _EACH
    parts = [*_band(line), *_labels(line), *_axis(line, height)]
    for number, (row, bars) in enumerate(rows):
        parts += _drawn(row, bars, _TOP + _BAND + 6 + _ROW * number, line, link if few else None)
    picture = Markup("").join(parts)
    return Markup(
        '<figure class="lifeline"><svg width="100%" height="{height}" role="{role}">'
        "<title>{title}</title><desc>{desc}</desc>{picture}</svg>"
        "<figcaption>{caption}</figcaption></figure>"
    ).format(
        height=height,
        # What has links in it is no single image.
        role="group" if "<a " in picture else "img",
        title=f"Life of {story.memory.id} over the task stream",
        desc=_described(story),
        picture=picture,
        caption=f"{line.begun} of {line.tasks} tasks begun. The band is high while the rule is "
        "active, half as high while provisional, low while inactive.",
    )


def _bars(line: Line, row: _Row) -> list[_Bar]:
    held = [mark for mark in line.marks if row.holds(mark)]
    bins = min(line.tasks, _BINS)

    def place(mark: Mark) -> int:
        return (max(mark.after, 1) - 1) * bins // line.tasks

    # In the order of the log marks never go back along the stream.
    return [_Bar(at, tuple(marks)) for at, marks in groupby(held, key=place)]


def _x(line: Line, after: int) -> float:
    """Where a task ends, in units along the stream."""
    return after / line.tasks * _SPAN


def _stretched(content: Markup, y: int, height: int) -> Markup:
    """A part of the picture that is as wide as there is room, in units along the stream."""
    return Markup(
        '<svg y="{}" width="100%" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">'
        "{}</svg>"
    ).format(y, height, _SPAN, height, content)


def _spans(line: Line) -> Iterator[tuple[Stretch, float, float]]:
    """Every stretch with where it begins and ends; even one that just began can be seen."""
    begins = [min(_x(line, stretch.after), _SPAN - _LEAST) for stretch in line.stretches]
    ends = [*begins[1:], _x(line, line.begun)]
    for stretch, begin, end in zip(line.stretches, begins, ends, strict=True):
        yield stretch, begin, max(end, begin + _LEAST)


def _band(line: Line) -> Iterator[Markup]:
    spans = list(_spans(line))
    content = []
    for state, height in _HEIGHTS.items():
        path = "".join(
            f"M{begin:.1f} {_BAND - height}h{end - begin:.1f}v{height}H{begin:.1f}z"
            for stretch, begin, end in spans
            if stretch.state == state
        )
        if path:
            content.append(Markup('<path class="fill-{}" d="{}"/>').format(state, path))
    yield _stretched(Markup("").join(content), _TOP, _BAND)


def _labels(line: Line) -> Iterator[Markup]:
    """State and version above the band: the newest, and others where there is always room."""
    *earlier, (newest, begins, _) = _spans(line)
    wide = _width(newest)
    fits = begins + wide <= _SPAN
    last = begins if fits else _SPAN - wide
    taken = 0.0
    for stretch, begin, end in earlier:
        if taken <= begin <= min(end, last) - _width(stretch):
            yield _text(begin / _SPAN * 100, _TOP - 5, _name(stretch), "start")
            taken = begin + _width(stretch)
    at, anchor = (begins / _SPAN * 100, "start") if fits else (100, "end")
    yield _text(at, _TOP - 5, _name(newest), anchor)


def _name(stretch: Stretch) -> str:
    return f"{stretch.state} v{stretch.version}"


def _width(stretch: Stretch) -> float:
    """Units along the stream that the name of a stretch takes in the narrowest picture."""
    return len(_name(stretch)) * _LETTER * _SPAN / _PHONE


def _axis(line: Line, height: int) -> Iterator[Markup]:
    yield Markup('<line class="axis" x2="100%" y1="{0}" y2="{0}"/>').format(height - 18)
    middle = line.tasks // 2
    yield _text(0, height - 4, "task 1", "start")
    if middle > 1:
        yield _text(middle / line.tasks * 100, height - 4, str(middle), "middle")
    yield _text(100, height - 4, str(line.tasks), "end")


def _text(percent: float, y: int, words: str, anchor: str) -> Markup:
    return Markup(
        '<text class="label" x="{:.1f}%" y="{}" text-anchor="{}" font-size="12">{}</text>'
    ).format(percent, y, anchor, words)


def _drawn(
    row: _Row, bars: Sequence[_Bar], y: int, line: Line, link: Link | None
) -> Iterator[Markup]:
    """A row with its name above its bars; with ``link`` each bar has its words and its link."""
    bins = min(line.tasks, _BINS)
    width = min(_SPAN / bins * 0.8, _WIDEST)
    most = max(len(bar.marks) for bar in bars)
    total = sum(len(bar.marks) for bar in bars)
    shapes = []
    for bar in bars:
        height = max(round(_BAR * len(bar.marks) / most), 3)
        x = (bar.place + 0.5) * _SPAN / bins - width / 2
        if link is None:
            shapes.append(f"M{x:.0f} {_BAR - height}h{width:.0f}v{height}H{x:.0f}z")
            continue
        rect = Markup(
            '<rect class="{}" fill="currentColor" x="{:.1f}" y="{}" width="{:.1f}" height="{}">'
            "<title>{}</title></rect>"
        ).format(row.colour, x, _BAR - height, width, height, _told(bar))
        to = link("event", bar.marks[0].position)
        shapes.append(Markup('<a href="{}">{}</a>').format(to, rect) if to else rect)
    content = (
        Markup('<path class="{}" fill="currentColor" d="{}"/>').format(row.colour, "".join(shapes))
        if link is None
        else Markup("").join(shapes)
    )
    yield _text(0, y + 11, f"{row.name} {total}", "start")
    yield _stretched(content, y + 17, _BAR)


def _told(bar: _Bar) -> str:
    first = bar.marks[0]
    more = f", and {len(bar.marks) - 1} more" if len(bar.marks) > 1 else ""
    return f"task {first.after}: {visible(first.says)} [{first.position}]{more}"


def _described(story: Story) -> str:
    """The picture in words."""
    tally, stretches = story.tally, story.line.stretches
    stood = "; ".join(
        f"after task {each.after} {each.state}, version {each.version}" for each in stretches[:20]
    )
    more = f"; and {len(stretches) - 20} more changes" if len(stretches) > 20 else ""
    return (
        f"{stood}{more}. Supplied {tally.supplied} times; {tally.positive} positive, "
        f"{tally.neutral} neutral and {tally.negative} negative effects."
    )
