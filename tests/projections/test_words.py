"""A word diff loses nothing, shows whole words, and stays fast on long texts."""

from __future__ import annotations

import random
import time
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.projections.words import Piece, tokens, word_diff

RULES = st.lists(
    st.sampled_from(["cite", "the", "page", "twice", ".", ",", " ", "  ", "\n", "é", "e\u0301"])
).map("".join)
TEXTS = st.one_of(RULES, st.text())


@given(TEXTS, TEXTS)
def test_the_pieces_give_both_texts_back(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert "".join(p.text for p in pieces if p.kind != "new") == before
    assert "".join(p.text for p in pieces if p.kind != "gone") == after


@given(TEXTS, TEXTS)
def test_no_piece_is_empty_and_no_two_neighbours_are_of_one_kind(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert all(piece.text for piece in pieces)
    assert all(a.kind != b.kind for a, b in pairwise(pieces))
    for one, other in pairwise(pieces):
        assert (one.kind, other.kind) != ("new", "gone")


@given(TEXTS, TEXTS)
def test_every_piece_begins_and_ends_between_words(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    for text, other in ((before, "new"), (after, "gone")):
        between = set(accumulate(map(len, tokens(text)), initial=0))
        assert between >= set(accumulate(len(p.text) for p in pieces if p.kind != other))


@given(TEXTS)
def test_a_text_differs_in_nothing_from_itself(text: str) -> None:
    assert word_diff(text, text) == ((Piece("same", text),) if text else ())


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("", "new", [("new", "new")]),
        ("gone", "", [("gone", "gone")]),
        (
            "Cite the page.",
            "Cite the page and its author.",
            [("same", "Cite the page"), ("new", " and its author"), ("same", ".")],
        ),
        (
            "Round to 3.14 always",
            "Round to 3.15 always",
            [("same", "Round to "), ("gone", "3.14"), ("new", "3.15"), ("same", " always")],
        ),
        ("one two", "three four", [("gone", "one two"), ("new", "three four")]),
        (
            "Never guess a date",
            "Never guess an exact date",
            [("same", "Never guess "), ("gone", "a"), ("new", "an exact"), ("same", " date")],
        ),
    ],
)
def test_a_diff_reads_as_a_person_would_mark_it(
    before: str, after: str, pieces: list[tuple[str, str]]
) -> None:
    assert [(p.kind, p.text) for p in word_diff(before, after)] == pieces


@pytest.mark.parametrize("vocabulary", [1, 2, 40, 400, 4000])
def test_texts_of_five_thousand_words_take_a_moment(vocabulary: int) -> None:
    chance = random.Random(vocabulary)
    words = [f"w{chance.randrange(vocabulary)}" for _ in range(5000)]
    changed = [w if chance.random() < 0.7 else f"x{chance.randrange(vocabulary)}" for w in words]
    started = time.process_time()
    pieces = word_diff(" ".join(words), " ".join(changed))
    assert time.process_time() - started < 3.0
    assert "".join(p.text for p in pieces if p.kind != "gone") == " ".join(changed)
