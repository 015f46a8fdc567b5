"""Which questions a stream holds, in which order, and what is said of unusable ones."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.benchmarks.qa import PopQaBenchmark, TriviaQaBenchmark
from discernmem.replayers.benchmarks.qa.benchmark import QaBenchmark
from discernmem.replayers.datasets import write_manifest
from discernmem.replayers.search.building import build_index
from discernmem.replayers.search.service import ServiceSearcher

Open = Callable[..., QaBenchmark]
BOTH = [TriviaQaBenchmark, PopQaBenchmark]


def plain(at: int, **fields: Any) -> dict[str, Any]:
    row = {
        "id": f"q{at}",
        "domain": f"d{at % 3}",
        "question": f"Which {at}?",
        "answers": [f"x{at}"],
    }
    return {**row, **fields}


def trivia(at: int, **answer: Any) -> dict[str, Any]:
    whole = {
        "value": f"X{at}",
        "aliases": [f"X{at}", "The X"],
        "normalized_aliases": [f"x{at}", "x"],
    }
    return {"question_id": f"tc_{at}", "question": f"Which {at}?", "answer": {**whole, **answer}}


def pop(at: int, **fields: Any) -> dict[str, Any]:
    kind = "author" if at % 10 < 6 else "capital" if at % 10 < 9 else "sport"
    answers = json.dumps([f"X{at}", "Y"])
    row = {"id": at, "prop": kind, "question": f"Which {at}?", "possible_answers": answers}
    return {**row, "subj": "unused", **fields}


@pytest.fixture
def stream(tmp_path: Path) -> Callable[[Iterable[dict[str, Any]]], Path]:
    def write(rows: Iterable[dict[str, Any]]) -> Path:
        path = tmp_path / "stream.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path

    return write


Stream = Callable[[Iterable[dict[str, Any]]], Path]


# -- our own set -------------------------------------------------------------------------------


def test_the_demo_of_triviaqa_is_our_whole_set_and_that_of_popqa_what_takes_one_search() -> None:
    whole, single = TriviaQaBenchmark(), PopQaBenchmark()
    assert len(whole.tasks()) >= 60
    ids = [task.id for task in whole.tasks()]
    assert ids == sorted(ids)
    assert 0 < len(single.tasks()) < len(whole.tasks())
    assert {task.id for task in single.tasks()} < set(ids)
    first = Counter(task.domain for task in single.tasks()[:12])
    assert len(first) == len({task.domain for task in single.tasks()})


def test_the_demo_searches_its_own_passages_offline() -> None:
    benchmark = TriviaQaBenchmark()
    assert benchmark.searcher is not None
    assert benchmark.facts["search"]["passages"] >= 200
    found = benchmark.searcher.search(benchmark.tasks()[0].text, benchmark.passages)
    assert len(found) == 3
    assert benchmark.searcher.search(benchmark.tasks()[0].text, 3) == found


def test_a_question_that_takes_one_search_finds_its_passage_by_its_own_words() -> None:
    folder = resources.files("discernmem.data") / "qa"
    written = [json.loads(line) for line in (folder / "questions.jsonl").read_bytes().splitlines()]
    passages = [json.loads(line) for line in (folder / "passages.jsonl").read_bytes().splitlines()]
    title = {passage["id"]: passage["title"] for passage in passages}
    benchmark = PopQaBenchmark()
    assert benchmark.searcher is not None
    missed = [
        question["id"]
        for question in written
        if question["hops"] == 1
        and title[question["supports"][0]]
        not in [each.title for each in benchmark.searcher.search(question["question"], 3)]
    ]
    assert missed == []


@pytest.mark.parametrize("make", BOTH)
def test_a_task_tells_the_question_and_the_form_of_its_answer_and_no_answer(make: Open) -> None:
    for task in make().tasks():
        question, form = task.text.split("\n")
        assert question.endswith("?")
        assert "<answer>" in form
        assert task.data["aliases"]
        assert task.data["limit"] == 12


@pytest.mark.parametrize("make", BOTH)
def test_two_openings_are_equal(make: Open) -> None:
    assert make().facts == make().facts
    assert make().tasks() == make().tasks()


# -- published sets ----------------------------------------------------------------------------


def test_triviaqa_starts_at_row_1000_in_the_order_of_the_file(stream: Stream) -> None:
    path = stream(trivia(at) for at in range(1030))
    benchmark = TriviaQaBenchmark(path, searches=0)
    assert [task.id for task in benchmark.tasks()] == [f"tc_{at}" for at in range(1000, 1030)]
    data = benchmark.tasks()[0].data
    assert data["aliases"] == ["x1000", "x"]
    assert data["names"] == ["x1000", "x", "X1000", "The X"]


def test_triviaqa_is_read_from_parquet_with_its_nested_answers(tmp_path: Path) -> None:
    path = tmp_path / "validation-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist([trivia(at) for at in range(3)]), path)
    tasks = TriviaQaBenchmark(path, start=1, searches=0).tasks()
    assert [task.id for task in tasks] == ["tc_1", "tc_2"]
    assert tasks == TriviaQaBenchmark(tmp_path, start=1, searches=0).tasks()


@pytest.mark.parametrize(
    ("answer", "aliases", "names"),
    [
        ({"normalized_aliases": ["", "x"]}, ["x"], ["x", "X5", "The X"]),
        (
            {"normalized_aliases": [""], "aliases": ["A"], "value": "An A"},
            ["A", "An A"],
            ["A", "An A"],
        ),
        ({"normalized_aliases": ["3 14"], "aliases": ["3.14"]}, ["3 14"], ["3 14", "3.14", "X5"]),
        ({"aliases": [], "value": None}, ["x5", "x"], ["x5", "x"]),
    ],
)
def test_an_empty_alias_of_triviaqa_is_never_right_and_never_the_only_one(
    answer: dict[str, Any], aliases: list[str], names: list[str], stream: Stream
) -> None:
    (task,) = TriviaQaBenchmark(stream([trivia(5, **answer)]), start=0, searches=0).tasks()
    assert task.data["aliases"] == aliases
    assert task.data["names"] == names


def test_popqa_starts_at_row_7000_and_mixes_its_relations_evenly(stream: Stream) -> None:
    path = stream(pop(at) for at in range(7200))
    benchmark = PopQaBenchmark(path, searches=0)
    tasks = benchmark.tasks()
    assert {int(task.id) for task in tasks} == set(range(7000, 7200))
    for length in (20, 50, 100):
        count = Counter(task.domain for task in tasks[:length])
        assert abs(count["author"] - 0.6 * length) <= 2
        assert abs(count["sport"] - 0.1 * length) <= 2
    assert [task.id for task in tasks] != [str(at) for at in range(7000, 7200)]
    assert benchmark.facts["stream"]["order"]["column"] == "prop"
    assert tasks[0].data["aliases"] == [f"X{tasks[0].id}", "Y"]


def test_the_seed_decides_the_order_of_popqa_and_not_what_is_in_it(stream: Stream) -> None:
    path = stream(pop(at) for at in range(50))
    first, again, other = (
        PopQaBenchmark(path, start=0, seed=seed, searches=0) for seed in (0, 0, 1)
    )
    assert first.tasks() == again.tasks()
    assert first.tasks() != other.tasks()
    assert sorted(task.id for task in first.tasks()) == sorted(task.id for task in other.tasks())
    assert first.facts != other.facts


def test_popqa_is_read_from_a_table_as_the_hub_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    answers = '"[""Pisa"", ""Pisa, Italy""]"'
    path.write_text(
        f"id\tprop\tquestion\tpossible_answers\n7\tcapital\tWhich?\t{answers}\n", "utf-8"
    )
    (task,) = PopQaBenchmark(path, start=0, searches=0).tasks()
    assert (task.id, task.domain) == ("7", "capital")
    assert task.data["aliases"] == ["Pisa", "Pisa, Italy"]


def test_a_long_accepted_answer_raises_the_limit_of_its_question_alone(stream: Stream) -> None:
    long = "a title of sixteen words that goes on and on until it is over at last"
    path = stream([plain(1, answers=["short", long]), plain(2)])
    first, second = TriviaQaBenchmark(path, searches=0).tasks()
    assert (first.data["limit"], second.data["limit"]) == (16, 12)
    environment = TriviaQaBenchmark(path, searches=0).environment(first)
    environment.step(long)
    assert environment.outcome().score == 1


def test_a_question_stays_on_one_line(stream: Stream) -> None:
    (task,) = TriviaQaBenchmark(stream([plain(1, question="Which\nof\tthem?")]), searches=0).tasks()
    assert task.text.split("\n")[0] == "Which of them?"


# -- manifests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "row"), [(TriviaQaBenchmark, trivia), (PopQaBenchmark, pop)])
def test_a_kept_manifest_gives_the_same_stream_and_refuses_other_data(
    make: Open, row: Callable[[int], dict[str, Any]], stream: Stream, tmp_path: Path
) -> None:
    path = stream(row(at) for at in range(40))
    benchmark = make(path, start=10, seed=3, searches=0)
    write_manifest(benchmark.manifest, tmp_path / "manifest.json")
    kept = make(path, manifest=tmp_path / "manifest.json", searches=0)
    assert kept.tasks() == benchmark.tasks()
    assert kept.facts == benchmark.facts
    stream(row(at) for at in range(41))
    with pytest.raises(BadInput, match="not the one the manifest was made of"):
        make(path, manifest=tmp_path / "manifest.json", searches=0)


# -- what is searched --------------------------------------------------------------------------


def test_an_index_or_a_service_takes_the_place_of_the_demos_passages(tmp_path: Path) -> None:
    build_index([Passage(title="Pisa", text="It leans.")], tmp_path / "town.db")
    local = TriviaQaBenchmark(index=tmp_path / "town.db")
    assert local.searcher is not None
    assert local.searcher.search("what leans", 3) == (Passage(title="Pisa", text="It leans."),)
    remote = TriviaQaBenchmark(retriever="http://127.0.0.1:9")
    assert isinstance(remote.searcher, ServiceSearcher)
    searches = [made.facts["search"] for made in (TriviaQaBenchmark(), local, remote)]
    assert len({json.dumps(search) for search in searches}) == 3


def test_a_stream_of_ones_own_needs_to_be_told_what_to_search(stream: Stream) -> None:
    with pytest.raises(BadInput, match="give index=FILE"):
        TriviaQaBenchmark(stream([plain(1)]))
    closed = TriviaQaBenchmark(stream([plain(1)]), searches=0)
    assert closed.searcher is None
    assert closed.facts["search"] is None


# -- facts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option",
    [{"accuracy": "contains"}, {"limit": 5}, {"searches": 2}, {"passages": 5}, {"start": 1}],
)
def test_whatever_can_change_a_text_or_a_score_changes_the_facts(option: dict[str, Any]) -> None:
    assert TriviaQaBenchmark(**option).facts != TriviaQaBenchmark().facts


def test_the_facts_are_plain_json_and_name_no_folder(stream: Stream) -> None:
    path = stream([plain(1)])
    facts = json.dumps(TriviaQaBenchmark(path, searches=0).facts)
    assert "stream.jsonl" in facts
    assert str(path.parent) not in facts


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"source": 5}, "source is 5"),
        ({"source": ""}, "source is ''"),
        ({"source": "absent.jsonl", "searches": 0}, "absent.jsonl"),
        ({"source": "hf:nonsense", "searches": 0}, "hf:"),
        ({"accuracy": "f1"}, "accuracy is 'f1'; give match or contains"),
        ({"start": -1}, "start is -1"),
        ({"start": 9999}, "starts at row 9999"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"searches": -1}, "searches is -1"),
        ({"searches": True}, "searches is True"),
        ({"passages": 0}, "passages is 0"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": 1.5}, "limit is 1.5"),
        ({"index": "absent.db"}, "absent.db: no such index"),
        ({"retriever": "host"}, "write http://host:port"),
        ({"index": "a.db", "retriever": "http://host"}, "index and retriever are both given"),
        ({"manifest": "absent.json"}, "absent.json"),
        ({"manifest": "absent.json", "start": 0}, "start and manifest both say"),
        ({"manifest": 5}, "manifest is 5"),
        ({"index": ""}, "index is ''"),
        ({"retriever": 5}, "retriever is 5"),
        ({"split": []}, "split is []"),
    ],
)
def test_an_unusable_option_is_named(option: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as error:
        TriviaQaBenchmark(**option)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "row", "message"),
    [
        (TriviaQaBenchmark, {"question": "Which?"}, "line 2: no object 'answer'"),
        (TriviaQaBenchmark, trivia(1, normalized_aliases=None), "'answer.normalized_aliases'"),
        (TriviaQaBenchmark, trivia(1, normalized_aliases=[5]), "'answer.normalized_aliases'"),
        (TriviaQaBenchmark, trivia(1, aliases="X"), "'answer.aliases'"),
        (
            TriviaQaBenchmark,
            trivia(1, normalized_aliases=[""], aliases=[" "], value=""),
            "no accepted answer holds any text",
        ),
        (TriviaQaBenchmark, {**trivia(1), "question": " "}, "'question' holds no text"),
        (TriviaQaBenchmark, {**trivia(1), "question_id": None}, "no field 'question_id'"),
        (TriviaQaBenchmark, trivia(0), "id 'tc_0' occurs twice"),
        (PopQaBenchmark, pop(1, possible_answers="[broken"), "'possible_answers' is not JSON"),
        (PopQaBenchmark, pop(1, possible_answers='"x"'), "'possible_answers' is no list"),
        (PopQaBenchmark, pop(1, possible_answers="[]"), "no accepted answer holds any text"),
        (PopQaBenchmark, pop(1, prop=None), "no field 'prop'"),
        (PopQaBenchmark, pop(1, id=True), "'id' holds no text"),
        (PopQaBenchmark, pop(0), "id '0' occurs twice"),
    ],
)
def test_a_bad_row_is_named_with_its_line(
    make: Open, row: dict[str, Any], message: str, stream: Stream
) -> None:
    good = trivia(0) if make is TriviaQaBenchmark else pop(0)
    with pytest.raises(BadInput) as error:
        make(stream([good, row]), start=0, searches=0)
    assert message in str(error.value)
    assert "twice" in message or "stream.jsonl, line 2" in str(error.value)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answers": "x"}, "'answers' is no list of texts"),
        ({"answers": []}, "no accepted answer"),
        ({"answers": ["", " "]}, "no accepted answer"),
        ({"domain": ""}, "'domain' holds no text"),
        ({"id": None}, "no field 'id'"),
        ({"question": ["x"]}, "'question' holds no text"),
    ],
)
def test_a_bad_row_of_our_own_form_is_named_with_its_line(
    make: Open, fields: dict[str, Any], message: str, stream: Stream
) -> None:
    with pytest.raises(BadInput, match=f"stream.jsonl, line 2: {message}"):
        make(stream([plain(0), plain(1, **fields)]), searches=0)
