"""What changed between two texts, word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

import attrs

PUNCTUATION: Final = re.escape('.,;:!?()[]{}"“”«»')
TOKEN: Final = re.compile(rf"\s+|[^\s{PUNCTUATION}]+(?:[.,:][^\s{PUNCTUATION}]+)*|[{PUNCTUATION}]")
"""White space, a word (3.14 and 12:30 are one each), or a mark of punctuation."""
MOST_PAIRS: Final = 20_000
"""Pairs of equal words that one pass of the alignment looks at; it makes many passes."""

Kind = Literal["same", "gone", "new"]


@attrs.frozen
class Piece:
    """Neighbouring words that both texts have, only the one before, or only the one after."""

    kind: Kind
    text: str


def tokens(text: str) -> list[str]:
    """The words, white space and punctuation of a text; joined they are the text."""
    return TOKEN.findall(text)


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces that turn one text into the other.

    Joining the same and the gone pieces gives ``before``, the same and the new ones ``after``.
    No two neighbours are of one kind; what is gone comes before what is new in its place.
    White space is the same only next to a word that is. So are words that are too frequent in
    texts of thousands of words, which keeps those fast.
    """
    left, right = tokens(before), tokens(after)
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    old, new = left[head : len(left) - tail], right[head : len(right) - tail]
    pieces: list[tuple[Kind, Sequence[str]]] = [("same", left[:head])]
    for kind, a, b, c, d in SequenceMatcher(_junk(old, new), old, new, False).get_opcodes():
        if kind == "equal":
            pieces.append(("same", old[a:b]))
        else:
            pieces += [("gone", old[a:b]), ("new", new[c:d])]
    pieces.append(("same", left[len(left) - tail :]))
    return _merged(pieces)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many tokens the two begin with in common."""
    for count, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return count
    return min(len(left), len(right))


def _junk(old: Sequence[str], new: Sequence[str]) -> Callable[[str], bool]:
    """The tokens that do not count as a place where the texts agree."""
    counts = Counter(old), Counter(new)
    pairs = {t: n * counts[1][t] for t, n in counts[0].items() if not t.isspace()}
    budget, frequent = MOST_PAIRS, set()
    for token, number in sorted(pairs.items(), key=lambda item: (item[1], item[0])):
        budget -= number
        if budget < 0:
            frequent.add(token)
    return lambda token: token.isspace() or token in frequent


def _merged(pieces: Sequence[tuple[Kind, Sequence[str]]]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for kind, run in pieces:
        text = "".join(run)
        if text and found and found[-1].kind == kind:
            found[-1] = Piece(kind, found[-1].text + text)
        elif text:
            found.append(Piece(kind, text))
    return tuple(found)
