"""Whether a short answer names what was asked for: the paper's count, and a fairer one.

`contains` is the paper's accuracy, kept for comparison. `match` is the score this project reports.
It reads a text as words in two ways and accepts an alias that is a run of whole words in either:

- *split*: every punctuation mark separates words, ``J.R.R.`` is ``j r r``, ``O'Brien`` is
  ``o brien``;
- *joined*: a mark between two letters vanishes and single letters in a row are one word, so
  ``J.R.R.``, ``J. R. R.`` and ``JRR`` are all ``jrr``.

Both fold case and Unicode compatibility forms and treat all dashes and apostrophes alike. A number
keeps its sign and decimals and loses its thousands commas, so ``3`` is not in ``3.5`` and ``3.5``
is not in ``-3.5``. No function here raises on any text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

ARTICLES = frozenset({"a", "an", "the"})

_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`", "'"),
    }
)
_WORD = re.compile(
    r"(?:(?<![^\W_])-)?\d+(?:,\d{3}(?!\d))*(?:\.\d+)*[^\W_]*"  # a number, perhaps with a suffix
    r"|[^\W_]+"
)
_INSIDE = re.compile(r"(?<=[^\W\d_])[.'-](?=[^\W\d_])")


def contains(answer: str, aliases: Iterable[str]) -> bool:
    """Whether any alias, lower-cased, occurs anywhere in the lower-cased answer.

    The paper's accuracy on TriviaQA and PopQA. It finds ``US`` in ``Russia``. An empty alias is
    ignored here; in the reference code it makes every answer right.
    """
    text = answer.lower()
    return any(alias.lower() in text for alias in aliases if alias.strip())


def match(answer: str, aliases: Iterable[str]) -> bool:
    """Whether any alias occurs in the answer as a run of whole words.

    Articles are dropped on both sides, as SQuAD does, with two exceptions, for an article that ends
    a name is no article: an alias such as ``Vitamin A`` keeps its articles and is looked for in the
    answer with its own; an alias of articles only (``A``, ``The The``) must end the answer. An
    alias without any word (``!!!``) must be the whole answer; an empty one is ignored.
    """
    readings = _readings(answer)
    return any(
        any(_named(ours, theirs) for ours, theirs in zip(_readings(alias), readings, strict=True))
        or _same_marks(alias, answer)
        for alias in aliases
    )


def listed(answer: str, groups: Sequence[Sequence[str]]) -> float:
    """The share in [0, 1] of the groups of aliases that the answer matches; 0 without groups."""
    if not groups:
        return 0.0
    return sum(match(answer, aliases) for aliases in groups) / len(groups)


def words(text: str) -> tuple[str, ...]:
    """The folded words of a text, punctuation separating; also how an answer's length counts."""
    return tuple(word.replace(",", "") for word in _WORD.findall(_fold(text)))


def _fold(text: str) -> str:
    # Marks are mapped first, since NFKC would split the lone accent into a space and a combiner.
    folded = unicodedata.normalize("NFKC", text.translate(_MARKS)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_MARKS)


def _readings(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return words(text), _joined(words(_INSIDE.sub("", _fold(text))))


def _joined(parts: Sequence[str]) -> tuple[str, ...]:
    """Make one word of single letters in a row."""
    result: list[str] = []
    initials = False
    for part in parts:
        letter = len(part) == 1 and part.isalpha()
        if letter and initials:
            result[-1] += part
        else:
            result.append(part)
        initials = letter
    return tuple(result)


def _named(alias: Sequence[str], answer: Sequence[str]) -> bool:
    if not alias:
        return False
    if ARTICLES.issuperset(alias):
        return answer[-len(alias) :] == alias
    if alias[-1] in ARTICLES:
        return _occurs(alias, answer)
    return _occurs(_without_articles(alias), _without_articles(answer))


def _without_articles(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for part in parts if part not in ARTICLES)


def _occurs(run: Sequence[str], parts: Sequence[str]) -> bool:
    size = len(run)
    return any(parts[at : at + size] == run for at in range(len(parts) - size + 1))


def _same_marks(alias: str, answer: str) -> bool:
    """Whether a wordless alias is the whole answer."""
    marks = _fold(alias).split()
    return bool(marks) and not words(alias) and marks == _fold(answer).split()
