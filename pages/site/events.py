"""The page of one event, and the contents that events refer to."""

from __future__ import annotations

from ...eventlog import events as ev
from ...eventlog.errors import BadInput, LogError
from .graph import around, draw
from .readable import fields
from .visiting import Answer, NotHere, Plain, Redirect, Visit, event_at


def event(visit: Visit, position: str) -> Answer:
    """One event: its sentence, its payload, and what led to it and followed from it."""
    recorded = event_at(visit, position)
    whole = visit.text("citations") == "all"
    found = around(visit.log, recorded, whole=whole, until=visit.head.position)
    return Answer(
        "event",
        f"Event {recorded.position}",
        {
            "recorded": recorded,
            "observed": recorded.event.KIND == "observed",
            "around": found,
            "graph": draw(found, visit.link),
            "fields": fields(visit.log, recorded, visit.link),
            "pair": recorded.type in ("EffectMeasured", "EffectRecorded"),
            "ran": isinstance(recorded.event, ev.ExecutionFinished),
            "before": recorded.position - 1,
            "next": recorded.position + 1 if recorded.position < visit.head.position else 0,
        },
    )


def event_named(visit: Visit) -> Redirect:
    """The page of the event with an id."""
    found = visit.log.by_id(visit.text("id"))
    if found is None:
        raise NotHere("No event of this log has that id.")
    return Redirect(visit.link("event", found.position))


def contents(visit: Visit, sha256: str) -> Plain:
    """A content as it is in the log, as plain text."""
    try:
        return Plain(visit.log.blob(sha256).decode("utf-8", "replace"))
    except LogError:
        raise
    except BadInput:
        raise NotHere("No content of that name: events refer to those there are.") from None
