"""Claims about counting a short answer as right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.replayers.benchmarks.answers import contains, listed, match, words

RIGHT = [
    ("Paris", "It is PARIS, of course.", "case and surrounding words are ignored"),
    ("The Who", "the Who", "an article before a name may be there"),
    ("The Who", "Who", "or not be there"),
    ("Lord of the Rings", "The Lord of Rings", "articles inside a name do not count"),
    ("A", "A", "an alias that is an article is kept"),
    ("A", "The answer is a.", "and found at the end, where no article stands"),
    ("The The", "They are called The The", "a name made of articles is found whole"),
    ("Vitamin A", "vitamin A and zinc", "an article that ends a name belongs to it"),
    ("\u22123.5", "-3.5", "a Unicode minus is a minus"),
    ("-3.5", "about \u22123.5 degrees", "on either side"),
    ("(3.14)", "3.14", "brackets do not count"),
    ("3.14", "It is (3.14).", "on either side"),
    ("1,200", "1200 sheep", "thousands commas do not count"),
    ("J.R.R. Tolkien", "j r r tolkien", "initials with dots are single letters"),
    ("j r r tolkien", "J.R.R. Tolkien", "on either side"),
    ("J. R. R. Tolkien", "JRR Tolkien", "or one word"),
    ("US", "the U.S. navy", "an abbreviation may carry dots"),
    ("O\u2019Brien", "Captain O'Brien", "curly and straight apostrophes are alike"),
    ("o brien", "O'Brien", "an apostrophe may be a space"),
    ("OBrien", "O'Brien", "or nothing"),
    ("B", "It got a B", "a single letter after an article stands alone"),
    ("Saint-Ulm", "saint ulm", "a hyphen may be a space"),
    ("\uff21\uff22\uff23", "abc", "full-width letters are letters"),
    ("\ufb01re", "fire", "ligatures are letters"),
    ("STRASSE", "Stra\u00dfe", "case folding is Unicode's"),
    ("!!!", " !!! ", "a wordless alias is the whole answer"),
]

WRONG = [
    ("US", "Russia", "an alias inside a word is not named"),
    ("", "anything", "an empty alias names nothing"),
    ("   ", "anything", "nor does a blank one"),
    ("", "", "not even an empty answer"),
    ("Paris", "", "an empty answer names nothing"),
    ("A", "a dog", "an article is no name"),
    ("Vitamin A", "vitamin C", "the last letter of a name counts"),
    ("3.5", "-3.5", "the sign of a number counts"),
    ("-3.5", "3.5", "on either side"),
    ("3", "3.5", "a number's decimals belong to it"),
    ("3", "3rd", "and so does its suffix"),
    ("12", "112", "a number inside a number is not named"),
    ("Tobias Quern Hallow", "Tobias Hallow", "all words of an alias must be there"),
    ("Little Fenn", "Fenn Little", "in their order"),
    ("!!!", "Wow!!!", "a wordless alias is no decoration"),
]


@pytest.mark.parametrize(("alias", "answer", "claim"), RIGHT, ids=[row[2] for row in RIGHT])
def test_match_accepts(alias: str, answer: str, claim: str) -> None:
    assert match(answer, [alias]), claim


@pytest.mark.parametrize(("alias", "answer", "claim"), WRONG, ids=[row[2] for row in WRONG])
def test_match_refuses(alias: str, answer: str, claim: str) -> None:
    assert not match(answer, [alias]), claim


@pytest.mark.parametrize(
    ("alias", "answer", "found"),
    [
        ("US", "Russia", True),
        ("paris", "PARIS", True),
        ("Paris", "London", False),
        ("J.R.R. Tolkien", "j r r tolkien", False),
        ("", "anything", False),
        ("  ", "any thing  at all", False),
    ],
)
def test_contains_is_a_search_for_letters(alias: str, answer: str, found: bool) -> None:
    """`contains` finds an alias anywhere and in no other spelling; an empty one is ignored."""
    assert contains(answer, [alias]) is found


def test_any_alias_is_enough() -> None:
    assert match("Oster", ["Falk", "Oster"])
    assert contains("Oster", ["Falk", "Oster"])


def test_no_alias_is_never_right() -> None:
    assert not match("Oster", [])
    assert not contains("Oster", [])


@pytest.mark.parametrize(
    ("answer", "share"),
    [("Petrel, Heron", 1.0), ("Heron only", 0.5), ("Old Tom", 0.0), ("", 0.0)],
)
def test_a_list_scores_the_share_of_its_groups(answer: str, share: float) -> None:
    assert listed(answer, [["Petrel", "the Petrel"], ["Heron"]]) == share


def test_no_group_scores_nothing() -> None:
    assert listed("Heron", []) == 0.0


def test_words_count_what_punctuation_glues_together() -> None:
    """A list without spaces is as long as one with spaces."""
    assert words("Ann,Bob/Cid_Dov") == ("ann", "bob", "cid", "dov")
    assert words("1,2,3") == ("1", "2", "3")
    assert words("-14 degrees; 1990-95") == ("-14", "degrees", "1990", "95")


PLAIN = st.text(alphabet="bcdefghijklm", min_size=2, max_size=4)


@settings(deadline=None)
@given(answer=st.lists(PLAIN, max_size=8), alias=st.lists(PLAIN, min_size=1, max_size=3))
def test_for_plain_words_match_implies_contains(answer: list[str], alias: list[str]) -> None:
    """Only there: lower-case words of two letters or more, no articles, one space between.

    Elsewhere neither implies the other: ``US`` is contained in ``Russia`` and not matched, and
    ``J.R.R.`` is matched by ``j r r`` and not contained.
    """
    text, sought = " ".join(answer), " ".join(alias)
    assert contains(text, [sought]) or not match(text, [sought])


@settings(deadline=None)
@given(
    before=st.lists(PLAIN, max_size=3),
    alias=st.lists(PLAIN, min_size=1, max_size=3),
    after=st.lists(PLAIN, max_size=3),
)
def test_a_run_of_plain_words_is_matched(
    before: list[str], alias: list[str], after: list[str]
) -> None:
    assert match(" ".join([*before, *alias, *after]), [" ".join(alias)])


@settings(deadline=None)
@given(text=st.text(min_size=1))
def test_a_text_with_a_word_or_mark_matches_itself(text: str) -> None:
    assert match(text, [text]) == bool(text.strip())


@settings(deadline=None)
@given(answer=st.text(), alias=st.text())
def test_no_text_is_refused(answer: str, alias: str) -> None:
    """Any two texts get an answer, and a share stays in [0, 1]."""
    assert match(answer, [alias]) in (True, False)
    assert contains(answer, [alias]) in (True, False)
    assert 0.0 <= listed(answer, [[alias], [answer]]) <= 1.0
