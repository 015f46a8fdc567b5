"""Looking for words in all rules and conditions there have ever been."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

import attrs
from markupsafe import Markup, escape

from ...projections.visible import visible
from .catalogue import Catalogue
from .visiting import Answer, Pages, Visit

_PAGE: Final = 30
_BEGIN, _END = "\x02", "\x03"
_FOUND: Final = "select rowid from words where words match :words"

MATCHING: Final = f"number in (select number from texts where id in ({_FOUND}))"
"""A condition on memories: one of their texts has the ``:words``."""


@attrs.frozen
class Found:
    """A text that has the words: whose, since when, until when, and the text with them marked."""

    memory: str
    kind: str
    version: int
    since: int
    until: int | None
    text: Markup


def search(visit: Visit) -> Answer:
    """The rules and conditions of all versions that have some words, the best first."""
    asked = visit.text("q")
    words = in_words(visit.catalogue, asked)
    count = (
        visit.catalogue.number(f"select count(*) from ({_FOUND})", {"words": words}) if words else 0
    )
    pages = Pages.asked(visit, count, _PAGE)
    return Answer(
        "search",
        f"Search for “{asked}”" if asked else "Search",
        {"asked": asked, "found": [*_found(visit.catalogue, words, pages)], "pages": pages},
    )


def in_words(catalogue: Catalogue, asked: str) -> str:
    """What the index can be asked for: as it was typed, or the words in it if that is no query."""
    asked = asked.replace("\0", " ").strip()
    if not asked:
        return ""
    try:
        catalogue.rows("select 1 from words where words match :words limit 1", {"words": asked})
    except sqlite3.Error:
        doubled = (word.replace('"', '""') for word in asked.split())
        return " ".join(f'"{word}"' for word in doubled)
    return asked


def _found(catalogue: Catalogue, words: str, pages: Pages) -> Iterator[Found]:
    if not words:
        return
    for row in catalogue.rows(
        "select t.*, highlight(words, 0, :begin, :end) as marked"
        " from words join texts t on t.id = words.rowid where words match :words"
        " order by words.rank, t.id limit :size offset :skip",
        {
            "words": words,
            "begin": _BEGIN,
            "end": _END,
            "size": pages.size,
            "skip": pages.skip,
        },
    ):
        yield Found(
            memory=f"m{row['number']}",
            kind=row["kind"],
            version=row["version"],
            since=row["since"],
            until=row["until"],
            text=_marked(row["marked"]),
        )


def _marked(text: str) -> Markup:
    """The text, escaped, with what is between the two signs as marks."""
    first, *rest = text.split(_BEGIN)
    made = escape(visible(first))
    for each in rest:
        word, _, after = each.partition(_END)
        made += Markup("<mark>{}</mark>{}").format(visible(word), visible(after))
    return made
