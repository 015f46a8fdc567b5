"""Questions as data sets write them: TriviaQA, PopQA, and a plain form of our own.

Our own form is one object a line::

    {"id": "q001", "domain": "ships", "question": "…", "answers": ["…", "…"], "hops": 2}

``hops`` says how many searches the answer takes and may be left out, as may any other field.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ....eventlog.errors import BadInput
from ...datasets import Row

COLUMNS = (
    *("id", "question_id", "domain", "prop", "question"),
    *("answers", "answer", "possible_answers", "hops"),
)
"""The fields that any of the forms reads."""


@attrs.frozen(kw_only=True)
class Question:
    """One question.

    ``aliases`` are what the paper's accuracy looks for. ``names`` are what `match` looks for: these
    and, where the data set has them, the spellings they were made from, since a normalised ``3 14``
    is no longer the number 3.14.
    """

    id: str
    domain: str
    text: str
    aliases: tuple[str, ...]
    names: tuple[str, ...]


def plain_question(row: Row) -> Question:
    """A question in our own form.

    Raises:
        BadInput: a field is missing or holds something else; so for the other readers.
    """
    answers = _filled(_list(row, "answers", row.fields.get("answers")), row)
    return Question(
        id=text_field(row, "id"),
        domain=text_field(row, "domain"),
        text=text_field(row, "question"),
        aliases=answers,
        names=answers,
    )


def trivia_question(row: Row) -> Question:
    """A question of TriviaQA.

    An answer that consists of articles (``A``) has an empty normalised alias, which the reference
    code finds in every answer. Where no other is left, the spellings it was made from stand in.
    """
    answer = row.fields.get("answer")
    if not isinstance(answer, Mapping):
        raise BadInput(f"{row.place}: no object 'answer'; give rows of TriviaQA, or 'answers'")
    normalised = _list(row, "answer.normalized_aliases", answer.get("normalized_aliases"))
    spelt = _list(row, "answer.aliases", answer.get("aliases", []))
    value = answer.get("value")
    spelt += [value] if isinstance(value, str) else []
    names = _filled(normalised + spelt, row)
    return Question(
        id=text_field(row, "question_id"),
        domain="trivia",
        text=text_field(row, "question"),
        aliases=tuple(alias for alias in normalised if alias.strip()) or names,
        names=names,
    )


def pop_question(row: Row) -> Question:
    """A question of PopQA, whose ``possible_answers`` is a list written as JSON inside a text."""
    answers = row.parsed("possible_answers")
    aliases = _filled(_list(row, "possible_answers", answers), row)
    return Question(
        id=text_field(row, "id"),
        domain=text_field(row, "prop"),
        text=text_field(row, "question"),
        aliases=aliases,
        names=aliases,
    )


def text_field(row: Row, field: str) -> str:
    """A field of a row, on one line; a number is taken as its digits."""
    return " ".join(row.text(field, digits=True).split())


def _list(row: Row, field: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise BadInput(f"{row.place}: {field!r} is no list of texts; list the accepted answers")
    return list(value)


def _filled(aliases: list[str], row: Row) -> tuple[str, ...]:
    """The aliases that say something, each once."""
    filled = tuple(dict.fromkeys(alias for alias in aliases if alias.strip()))
    if not filled:
        raise BadInput(f"{row.place}: no accepted answer holds any text; give one")
    return filled
