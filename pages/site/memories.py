"""The list of all memories, and the page of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from ...projections.story import story
from ..lifelines import lifeline
from .catalogue import Catalogue
from .searching import MATCHING, in_words
from .visiting import Answer, NotHere, Pages, Visit

_PAGE: Final = 50
_EFFECTS: Final = 50
_SORTS: Final = {
    "memory": "number",
    "-supplied": "supplied desc, number",
    "-positive": "positive desc, number",
    "-neutral": "neutral desc, number",
    "-negative": "negative desc, number",
    "-effect": "mean_effect desc nulls last, number",
    "effect": "mean_effect asc nulls last, number",
    "-version": "version desc, number",
    "-changed": "changed desc, number",
    "-memory": "number desc",
}
_FACETS: Final = {
    "state": "state",
    "owner": "owner",
    "revised": "case when version > 1 then 'yes' else 'no' end",
    "harmed": "case when negative > 0 then 'yes' else 'no' end",
}
"""How memories are told apart: the name of each facet and what it is of a memory."""


@attrs.frozen
class Choice:
    """A value of a facet, how many memories have it, and where only they are listed."""

    value: str
    count: int
    to: str
    chosen: bool


def memories(visit: Visit) -> Answer:
    """All memories, or those that some facets and words leave, in the order asked for."""
    asked = visit.text("q")
    chosen = {name: visit.text(name) for name in _FACETS}
    given = {**chosen, "words": in_words(visit.catalogue, asked)}
    sort = visit.choice("sort", tuple(_SORTS))
    query = {"q": asked, **chosen, "sort": "" if sort == "memory" else sort}
    where = _where(given)
    pages = Pages.asked(
        visit, visit.catalogue.number(f"select count(*) from memories where {where}", given), _PAGE
    )
    return Answer(
        "memories",
        "Memories",
        {
            "asked": asked,
            "facets": {name: [*_choices(visit, name, given, query)] for name in _FACETS},
            "memories": visit.catalogue.rows(
                f"select * from memories where {where} order by {_SORTS[sort]}"
                " limit :size offset :skip",
                {**given, "size": pages.size, "skip": pages.skip},
            ),
            "pages": pages,
            "sort": sort,
            "query": query,
            "narrowed": bool(asked or any(chosen.values())),
        },
    )


def _where(given: Mapping[str, str], but: str = "") -> str:
    """The condition for all that is given, one facet left out."""
    wanted = [
        f"{column} = :{name}" for name, column in _FACETS.items() if given[name] and name != but
    ]
    return " and ".join([*wanted, *([MATCHING] if given["words"] else ())]) or "true"


def _choices(
    visit: Visit, name: str, given: Mapping[str, str], query: Mapping[str, str]
) -> Iterator[Choice]:
    rows = visit.catalogue.rows(
        f"select {_FACETS[name]} as value, count(*) as n from memories"
        f" where {_where(given, but=name)} group by 1 order by 1",
        given,
    )
    for value, count in rows:
        chosen = given[name] == value
        to = visit.link.page("memories", **{**query, name: "" if chosen else value})
        yield Choice(value, count, to, chosen)


def memory(visit: Visit, name: str) -> Answer:
    """One memory: its rule, its numbers, its life and the story of it."""
    if visit.catalogue.memory(name) is None:
        raise NotHere(f"No memory {name}: {what_there_is(visit.catalogue)}.")
    told = story(visit.log, name)
    effects = visit.catalogue.rows(
        "select position from marks where number = :number and effect is not null"
        " order by position desc",
        {"number": told.memory.number},
    )
    pages = Pages.asked(visit, len(effects), _EFFECTS, "effects")
    shown = effects[pages.skip : pages.skip + pages.size]
    recorded = [visit.log.at(position) for (position,) in shown]
    neighbours = [f"m{told.memory.number + step}" for step in (-1, 1)]
    return Answer(
        "memory",
        f"Memory {name}",
        {
            "story": told,
            "effects": [each for each in recorded if each is not None],
            "pages": pages,
            "tasks": visit.catalogue.tasks,
            "picture": lifeline(told, visit.link),
            "before": neighbours[0] if visit.catalogue.memory(neighbours[0]) else "",
            "next": neighbours[1] if visit.catalogue.memory(neighbours[1]) else "",
        },
    )


def what_there_is(catalogue: Catalogue) -> str:
    """Which memories a log has, in words."""
    count = len(catalogue)
    return f"this log has m1 to m{count}" if count else "this log has none yet"
