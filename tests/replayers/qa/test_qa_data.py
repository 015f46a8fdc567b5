"""Claims about the question set that ships: what can be found by one search, and what needs two."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from typing import Any

import pytest

from discernmem.replayers.benchmarks.answers import match, words

Row = dict[str, Any]

FOLDER = resources.files("discernmem.data") / "qa"


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


PASSAGES = rows("passages.jsonl")
QUESTIONS = rows("questions.jsonl")
BY_ID = {passage["id"]: passage for passage in PASSAGES}
ONE_HOP = [question for question in QUESTIONS if question["hops"] == 1]
TWO_HOP = [question for question in QUESTIONS if question["hops"] == 2]

# Words that say nothing of what a question is about.
FILLERS = frozenset(
    words(
        "a an and are as at be by did do does for from had has have he her his how in is it its of "
        "on or she that the their they this to under was were what when where which who whom with"
    )
)
INTENDED = {"Zo\u00eb", "Br\u00e8lle", "\u22123.5", "\u221231"}


def cases(questions: Sequence[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "question", [pytest.param(question, id=question["id"]) for question in questions]
    )


def content(text: str) -> list[str]:
    return [word for word in words(text) if word not in FILLERS]


def whole(passage: Row) -> str:
    return f"{passage['title']}. {passage['text']}"


def support(question: Row, at: int) -> Row:
    return BY_ID[question["supports"][at]]


class WordSearch:
    """Okapi BM25 with its usual constants, over titles and texts; ties by the order of the file."""

    def __init__(self, passages: Sequence[Row]) -> None:
        self.ids = [passage["id"] for passage in passages]
        self.counts = [Counter(content(whole(passage))) for passage in passages]
        self.mean = sum(count.total() for count in self.counts) / len(self.counts)
        self.holders = Counter(word for count in self.counts for word in count)

    def top(self, query: str, k: int) -> list[str]:
        asked = content(query)
        scored = sorted((-self.score(asked, count), at) for at, count in enumerate(self.counts))
        return [self.ids[at] for score, at in scored[:k] if score < 0]

    def score(self, asked: Sequence[str], count: Counter[str]) -> float:
        longer = 1.2 * (0.25 + 0.75 * count.total() / self.mean)
        return sum(
            self.rarity(word) * 2.2 * count[word] / (count[word] + longer)
            for word in asked
            if word in count
        )

    def rarity(self, word: str) -> float:
        holders = self.holders[word]
        return math.log(1 + (len(self.ids) - holders + 0.5) / (holders + 0.5))


SEARCH = WordSearch(PASSAGES)


def test_the_set_is_as_large_as_promised() -> None:
    assert len(PASSAGES) >= 200
    assert len(QUESTIONS) >= 60
    assert len(TWO_HOP) >= 20
    assert len(ONE_HOP) + len(TWO_HOP) == len(QUESTIONS)


def test_rows_have_exactly_their_fields() -> None:
    fields = {"id", "domain", "relation", "question", "answers", "hops", "supports"}
    assert all(set(passage) == {"id", "title", "text"} for passage in PASSAGES)
    assert all(set(question) == fields for question in QUESTIONS)


def test_ids_titles_and_questions_are_unique() -> None:
    for items, field in (
        (PASSAGES, "id"),
        (PASSAGES, "title"),
        (QUESTIONS, "id"),
        (QUESTIONS, "question"),
    ):
        assert len({item[field].casefold() for item in items}) == len(items)


def test_no_two_passages_share_a_run_of_seven_words() -> None:
    """Neither a passage nor a sentence is there twice."""
    runs: dict[tuple[str, ...], str] = {}
    for passage in PASSAGES:
        read = words(passage["text"])
        for at in range(len(read) - 6):
            assert runs.setdefault(read[at : at + 7], passage["id"]) == passage["id"]


def test_passages_are_30_to_80_words_long() -> None:
    assert all(30 <= len(passage["text"].split()) <= 80 for passage in PASSAGES)


def test_all_is_ascii_except_what_is_meant_not_to_be() -> None:
    texts = [whole(passage) for passage in PASSAGES]
    texts += [
        part for question in QUESTIONS for part in [question["question"], *question["answers"]]
    ]
    found = {word.strip(".,;:?") for text in texts for word in text.split() if not word.isascii()}
    assert found == INTENDED


def test_six_domains_are_of_like_size_and_interleaved() -> None:
    """The first half of the stream has every domain with both kinds of question."""
    sizes = Counter(question["domain"] for question in QUESTIONS)
    assert set(sizes) == {"people", "places", "works", "nature", "ships", "customs"}
    assert min(sizes.values()) >= 10
    half = QUESTIONS[: len(QUESTIONS) // 2]
    assert len({(question["domain"], question["hops"]) for question in half}) == 12


@pytest.mark.parametrize(
    "answer",
    [
        "The Heron",
        "A. Finch",
        "Pier A",
        "J. K. Orrel",
        "Zo\u00eb Karrow",
        "\u22123.5 metres",
        "62.5 metres",
        "1,112 metres",
        "268",
    ],
)
def test_the_tricky_kinds_of_answer_are_asked_for(answer: str) -> None:
    """Articles in names, initials, a diacritic, a sign, decimals, thousands, a year."""
    assert [question["answers"][0] for question in QUESTIONS].count(answer) == 1


@cases(QUESTIONS)
def test_supports_exist_one_a_hop(question: Row) -> None:
    assert len(set(question["supports"])) == question["hops"]
    assert set(question["supports"]) <= set(BY_ID)


@cases(QUESTIONS)
def test_the_last_support_gives_the_canonical_answer(question: Row) -> None:
    """In its text, without the help of the title."""
    assert question["answers"][0].strip()
    assert match(support(question, -1)["text"], question["answers"][:1])


@cases(QUESTIONS)
def test_every_alias_is_short_and_the_question_holds_none(question: Row) -> None:
    for alias in question["answers"]:
        assert 1 <= len(alias.split()) <= 4
        assert not match(question["question"], [alias])


@cases(TWO_HOP)
def test_the_bridge_is_named_by_the_first_support_only(question: Row) -> None:
    """Not by the question; and the first support does not give the answer itself."""
    bridge = [support(question, 1)["title"]]
    assert match(support(question, 0)["text"], bridge)
    assert not match(question["question"], bridge)
    assert not match(whole(support(question, 0)), question["answers"])


@cases(TWO_HOP)
def test_the_last_support_shares_no_word_with_the_question(question: Row) -> None:
    asked = set(content(question["question"]))
    assert not asked & set(content(whole(support(question, 1))))


@cases(TWO_HOP)
def test_one_search_finds_the_first_support_and_not_the_last(question: Row) -> None:
    """The second search, for the bridge, finds the last."""
    first, last = question["supports"]
    found = SEARCH.top(question["question"], 3)
    assert first in found
    assert last not in found
    assert last in SEARCH.top(support(question, 1)["title"], 3)


def test_one_search_answers_the_one_hop_questions() -> None:
    """Among its top three, for at least four in five."""
    found = [question["supports"][0] in SEARCH.top(question["question"], 3) for question in ONE_HOP]
    assert sum(found) >= 0.8 * len(found)


@cases(TWO_HOP)
def test_no_passage_holds_the_answer_beside_the_name_of_the_first_support(question: Row) -> None:
    """So that no other passage makes one search enough."""
    first = [support(question, 0)["title"]]
    assert not [
        passage["id"]
        for passage in PASSAGES
        if match(whole(passage), first) and match(whole(passage), question["answers"])
    ]
