"""The causes and consequences of an event, and a small picture of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import attrs
from markupsafe import Markup

from ...eventlog.log import EventLog, Recorded
from ...projections.facts import evidence_of
from ...projections.telling import tell
from ...projections.visible import visible
from .links import Links

SHOWN: Final = 6
"""Causes and consequences of each kind that the picture has room for."""

_LISTED: Final = 50
_STEP: Final = 100_000
_WIDTH, _HEIGHT, _GAP, _ROW = 230, 44, 60, 54
_CHARACTERS: Final = 32


@attrs.frozen(kw_only=True)
class Around:
    """An event among others.

    Attributes:
        chain: its cause, the cause of that and so on, the nearest first.
        evidence: what else it says it rests on.
        caused: what it caused directly, wherever in the log.
        citing: what rests on it besides, of its own stream and its task, or of the whole log.
        whole: whether all of the log was looked through for that.
    """

    event: Recorded
    chain: tuple[Recorded, ...]
    evidence: tuple[Recorded, ...]
    caused: tuple[Recorded, ...]
    citing: tuple[Recorded, ...]
    whole: bool


def around(log: EventLog, recorded: Recorded, *, whole: bool, until: int) -> Around:
    """The causes and consequences of an event up to position ``until``."""
    caused = _at(
        log,
        "select position from events where causation_id = ? and position <= ?"
        " order by position limit ?",
        (recorded.event_id, until, _LISTED),
    )
    known = {each.position for each in caused}
    citing = _everywhere(log, recorded, until) if whole else _nearby(log, recorded, until)
    evidence = log.by_ids(set(evidence_of(recorded)) - {recorded.causation_id})
    return Around(
        event=recorded,
        chain=tuple(_chain(log, recorded)),
        evidence=tuple(sorted(evidence.values())),
        caused=tuple(caused),
        citing=tuple(_at_positions(log, [each for each in citing if each not in known])),
        whole=whole,
    )


def _chain(log: EventLog, recorded: Recorded) -> Iterator[Recorded]:
    cause = log.by_id(recorded.causation_id) if recorded.causation_id else None
    while cause is not None:
        yield cause
        cause = log.by_id(cause.causation_id) if cause.causation_id else None


def _nearby(log: EventLog, recorded: Recorded, until: int) -> Collection[int]:
    """Positions of later events of the stream and of the task that name the event."""
    found: set[int] = set()
    about = {"stream_id": recorded.stream_id, "task_index": recorded.task_index}
    for column, value in about.items():
        if value is not None:
            rows = log.rows(
                f"select position from events where {column} = ? and +position > ?"
                " and +position <= ? and instr(payload, ?) > 0",
                (value, recorded.position, until, recorded.event_id),
            )
            found.update(position for (position,) in rows)
    return sorted(found)[:_LISTED]


def _everywhere(log: EventLog, recorded: Recorded, until: int) -> Collection[int]:
    """As `_nearby`, in the whole log; in steps, so that none holds on to a state of it for long."""
    found: list[int] = []
    for after in range(recorded.position, until, _STEP):
        rows = log.rows(
            "select position from events where position > ? and position <= ?"
            " and instr(payload, ?) > 0 order by position limit ?",
            (after, min(after + _STEP, until), recorded.event_id, _LISTED - len(found)),
        )
        found += [position for (position,) in rows]
        if len(found) >= _LISTED:
            break
    return found


def _at(log: EventLog, sql: str, parameters: Sequence[object]) -> list[Recorded]:
    return _at_positions(log, [position for (position,) in log.rows(sql, parameters)])


def _at_positions(log: EventLog, positions: Sequence[int]) -> list[Recorded]:
    return [each for each in map(log.at, positions) if each is not None]


# -- drawing -----------------------------------------------------------------------------------


def draw(found: Around, link: Links) -> Markup:
    """The event with its causes on the left and its consequences on the right; each is a link.

    A full line is a cause, a broken one what else a conclusion rests on.
    """
    causes = [*((each, True) for each in found.chain[:1])]
    causes += [(each, False) for each in found.evidence[: SHOWN - len(causes)]]
    effects = [(each, True) for each in found.caused[:SHOWN]]
    effects += [(each, False) for each in found.citing[: SHOWN - len(effects)]]
    rows = max(len(causes), len(effects), 1)
    height = rows * _ROW + 8
    middle = (height - _HEIGHT) / 2
    columns = [4, 4 + _WIDTH + _GAP, 4 + 2 * (_WIDTH + _GAP)]
    parts: list[Markup] = []
    for side, events in ((0, causes), (2, effects)):
        top = (height - len(events) * _ROW) / 2 + (_ROW - _HEIGHT) / 2
        for number, (each, direct) in enumerate(events):
            y = top + number * _ROW
            ends = (columns[0] + _WIDTH, y, columns[1], middle)
            if side:
                ends = (columns[1] + _WIDTH, middle, columns[2], y)
            parts.append(_edge(*ends, direct=direct))
            parts.append(_node(each, columns[side], y, link))
    parts.append(_node(found.event, columns[1], middle, link, here=True))
    return Markup(
        '<svg class="graph" role="group" viewBox="0 0 {width} {height}" '
        'aria-labelledby="graph-title graph-desc"><title id="graph-title">Causes and consequences '
        'of event {position}</title><desc id="graph-desc">{causes} on the left lead to it, '
        "{effects} on the right follow from it; the lists below name them all.</desc>{parts}</svg>"
    ).format(
        width=columns[2] + _WIDTH + 4,
        height=f"{height:g}",
        position=found.event.position,
        causes=len(causes),
        effects=len(effects),
        parts=Markup("").join(parts),
    )


def _edge(x1: float, y1: float, x2: float, y2: float, *, direct: bool) -> Markup:
    y1, y2 = y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    half = (x1 + x2) / 2
    return Markup(
        '<path class="edge{kind}" d="M{a:g} {b:g}C{c:g} {b:g} {c:g} {d:g} {e:g} {d:g}"/>'
    ).format(kind="" if direct else " weak", a=x1, b=y1, c=half, d=y2, e=x2)


def _node(recorded: Recorded, x: float, y: float, link: Links, *, here: bool = False) -> Markup:
    says = visible(tell(recorded.event))
    short = says if len(says) <= _CHARACTERS else f"{says[: _CHARACTERS - 1]}…"
    return Markup(
        '<a href="{to}"{current}><title>{says}</title>'
        '<rect class="node" x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6"/>'
        '<text class="label" x="{left:g}" y="{first:g}">{position} · {type}</text>'
        '<text x="{left:g}" y="{second:g}">{short}</text></a>'
    ).format(
        to=link("event", recorded.position),
        current=Markup(' aria-current="true"') if here else "",
        says=f"Event {recorded.position}: {says}",
        x=x,
        y=y,
        width=_WIDTH,
        height=_HEIGHT,
        left=x + 10,
        first=y + 18,
        second=y + 35,
        position=recorded.position,
        type=recorded.type,
        short=short,
    )
