"""Searching an index on this machine: which passages, in which order, and never an error."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.models.embedders import WordLlamaEmbedder
from discernmem.replayers.search.building import build_index
from discernmem.replayers.search.local import LocalSearcher, index_of, open_index, terms

TOWN = [
    Passage(title="Leaning tower", text="It stands in a town by the river and leans."),
    Passage(title="River", text="The river flows past the tower that leans."),
    Passage(title="Café Ærø", text="Founded by J. R. R. Tolkién's uncle; it sells cakes."),
    Passage(title="The Who", text="A band of four."),
    Passage(title="Twin", text="Two of a kind."),
    Passage(title="Twin", text="Two of a kind."),
    Passage(title="Glossary", text='NEAR, AND, OR, NOT and "quotes" are words; title: too.'),
]
SYNTAX = ['"', "'", "*", "^", ":", "(", ")", "-", "+", "{", "}", "AND", "OR", "NOT", "NEAR(a b, 2)"]


@pytest.fixture(scope="module")
def town() -> LocalSearcher:
    return index_of(TOWN, "town")


def titles(passages: Sequence[Passage]) -> list[str]:
    return [passage.title for passage in passages]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which tower leans?", "Leaning tower"),
        ("river flowing", "River"),
        ("CAFE ærø", "Café Ærø"),
        ("tolkien cake", "Café Ærø"),
        ("Cafe\u0301", "Café Ærø"),
        ("who", "The Who"),
        ("the who", "The Who"),
        ("a band", "The Who"),
        ("NEAR", "Glossary"),
        ("title", "Glossary"),
    ],
)
def test_words_find_passages_whatever_their_form_case_or_accents(
    town: LocalSearcher, query: str, first: str
) -> None:
    assert titles(town.search(query, 1)) == [first]


def test_a_word_in_the_title_weighs_more_than_one_in_the_text(town: LocalSearcher) -> None:
    assert titles(town.search("river", 3)) == ["River", "Leaning tower"]


def test_equally_near_passages_come_in_the_order_of_the_file(town: LocalSearcher) -> None:
    numbered = [Passage(title="Same", text=f"same words {at}") for at in (3, 1, 2)]
    assert index_of(numbered, "same").search("same words", 3) == tuple(numbered)
    assert titles(town.search("kind", 9)) == ["Twin", "Twin"]


@pytest.mark.parametrize("query", ["", "  ", "?!", "zebra", "\0", "\ud800", '"', "*"])
def test_a_query_that_names_nothing_finds_nothing(town: LocalSearcher, query: str) -> None:
    assert town.search(query, 3) == ()


@given(st.lists(st.sampled_from(SYNTAX) | st.text(max_size=6), max_size=8).map(" ".join))
def test_no_query_is_an_error(town: LocalSearcher, query: str) -> None:
    found = town.search(query, 3)
    assert len(found) <= 3
    assert set(found) <= set(TOWN)
    assert town.search(query, 3) == found


def test_a_query_that_never_ends_is_cut(town: LocalSearcher) -> None:
    endless = "tower " + " ".join(f"word{at}" for at in range(10_000))
    assert len(terms(endless)) == 64
    assert titles(town.search(endless, 1)) == ["Leaning tower"]


def test_function_words_are_left_out_unless_there_are_no_others() -> None:
    assert terms("What is the name of the Tower of Pisa?") == ("name", "tower", "pisa")
    assert terms("The The") == ("the",)


@given(st.text())
def test_terms_are_words_that_need_no_quoting(query: str) -> None:
    found = terms(query)
    assert len(set(found)) == len(found)
    assert all('"' not in word and "\0" not in word and word.split() == [word] for word in found)


def test_an_index_of_nothing_finds_nothing() -> None:
    assert index_of([], "empty").search("tower", 3) == ()


# -- facts -------------------------------------------------------------------------------------


def test_the_facts_depend_on_content_and_kind_and_not_on_the_place(tmp_path: Path) -> None:
    memory = index_of(TOWN, "town").facts
    build_index(TOWN, tmp_path / "town.db")
    assert open_index(tmp_path / "town.db").facts == memory
    assert str(tmp_path) not in str(memory)
    assert index_of(TOWN[::-1], "town").facts["content"] != memory["content"]
    assert index_of([Passage(title="ab", text="c")], "x").facts != (
        index_of([Passage(title="a", text="bc")], "x").facts
    )
    build_index(TOWN, tmp_path / "vectors.db", embedder=WordLlamaEmbedder(), spec="wordllama")
    by_vectors = open_index(tmp_path / "vectors.db").facts
    assert by_vectors["content"] == memory["content"]
    assert by_vectors["kind"] == "vectors"
    assert by_vectors["embedder"] == WordLlamaEmbedder().card.fingerprint


# -- vectors -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> LocalSearcher:
    path = tmp_path_factory.mktemp("vectors") / "town.db"
    build_index(TOWN, path, embedder=WordLlamaEmbedder(), spec="wordllama")
    return open_index(path)


def test_vectors_find_what_is_near_in_meaning_without_a_common_word(near: LocalSearcher) -> None:
    assert titles(near.search("rock musicians playing in a group", 1)) == ["The Who"]


def test_vectors_rank_every_passage_and_twins_in_the_order_of_the_file(near: LocalSearcher) -> None:
    found = near.search("two twins of a kind", 99)
    assert sorted(titles(found)) == sorted(titles(TOWN))
    assert titles(found)[:2] == ["Twin", "Twin"]
    assert near.search("", 2) == tuple(TOWN[:2])


def test_an_index_of_another_embedder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "town.db"
    build_index(TOWN, path, embedder=WordLlamaEmbedder(), spec="wordllama")
    with sqlite3.connect(path) as connection:
        connection.execute("update about set value = 'f00' where name = 'embedder'")
    connection.close()
    with pytest.raises(BadInput, match=r"town\.db was built with another embedder"):
        open_index(path)


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such index"), (b"", "no index of passages"), (b"text" * 99, "not a database")],
)
def test_what_is_no_index_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=rf"some\.db.*{message}"):
        open_index(path)
    assert content is None or path.read_bytes() == content


def test_an_index_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "town.db"
    build_index(TOWN, path)
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(BadInput, match="index format 99"):
        open_index(path)


@pytest.mark.parametrize(
    "damage",
    [
        "delete from about where name = 'kind'",
        "update about set value = 'many' where name = 'passages'",
        "insert into about values ('colour', 'red')",
    ],
)
def test_an_index_that_says_nothing_usable_of_itself_is_refused(
    damage: str, tmp_path: Path
) -> None:
    path = tmp_path / "town.db"
    build_index(TOWN, path)
    changed(path, damage)
    with pytest.raises(BadInput, match=r"town\.db is damaged; build it again"):
        open_index(path)


def test_a_passage_or_vector_that_is_gone_is_no_answer(tmp_path: Path) -> None:
    words, vectors = tmp_path / "words.db", tmp_path / "vectors.db"
    build_index(TOWN, words)
    changed(words, "delete from passages")
    with pytest.raises(Infrastructure, match=r"words\.db: passage \d+ is missing; .*resume"):
        open_index(words).search("tower", 3)
    build_index(TOWN, vectors, embedder=WordLlamaEmbedder(), spec="wordllama")
    changed(vectors, "delete from vectors where number = 2")
    with pytest.raises(BadInput, match=rf"{len(TOWN) - 1} of {len(TOWN)} vectors"):
        open_index(vectors)


def changed(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def test_an_index_that_is_damaged_is_an_infrastructure_failure_and_not_nothing_found(
    tmp_path: Path,
) -> None:
    path = tmp_path / "town.db"
    build_index((Passage(title=f"T{at}", text=f"tower {at} " * 50) for at in range(300)), path)
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\xff" * (len(content) - 4096 * 4)
    searcher = open_index(path)
    path.write_bytes(content)
    with pytest.raises(Infrastructure, match=r"town\.db: .*resume"):
        searcher.search("tower", 3)
