"""Claims about the reading benchmark: its environment, its score and its stream files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Outcome
from discernmem.replayers.benchmarks.reading import ReadingBenchmark, extract

HARBOUR: dict[str, Any] = {
    "id": "x1",
    "family": "change",
    "question": "Who is the harbour master now?",
    "passages": ["Goss Merrin was harbour master.", "Now Falk Oster is."],
    "aliases": ["Falk Oster", "Oster"],
    "wrong": ["Merrin"],
}
BOATS: dict[str, Any] = {
    "id": "x2",
    "family": "list",
    "question": "Which boats finished?",
    "passages": ["Petrel and Heron finished; Old Tom and Wren did not."],
    "groups": [["Petrel"], ["Heron"]],
    "wrong": ["Old Tom", "Wren"],
}


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(HARBOUR)}\n\n{json.dumps(BOATS)}\n", encoding="utf-8")
    return path


def outcome(stream: Path, at: int, answer: str, **options: int) -> Outcome:
    benchmark = ReadingBenchmark(stream, **options)
    episode = benchmark.environment(benchmark.tasks()[at])
    episode.step(answer)
    return episode.outcome()


# -- the task ----------------------------------------------------------------------------------


def test_a_task_shows_passages_and_question_in_order(stream: Path) -> None:
    task = ReadingBenchmark(stream).tasks()[0]
    assert task.id == "x1"
    assert task.domain == "change"
    assert task.text == (
        "Passage 1: Goss Merrin was harbour master.\n"
        "Passage 2: Now Falk Oster is.\n"
        "\n"
        "Question: Who is the harbour master now?\n"
        "Give a short answer, without explanation."
    )


def test_a_list_task_asks_for_a_list(stream: Path) -> None:
    text = ReadingBenchmark(stream).tasks()[1].text
    assert text.endswith("Give a short list, separated by commas, without explanation.")


def test_what_the_environment_knows_is_not_in_the_text(tmp_path: Path) -> None:
    """Aliases, wrong values and the limit stay in ``data`` unless a passage says them."""
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(HARBOUR | {"aliases": ["Zorble"], "wrong": ["Quimby"]}))
    task = ReadingBenchmark(path, limit=77).tasks()[0]
    assert task.data == {"groups": [["Zorble"]], "wrong": ["Quimby"], "limit": 77}
    assert not any(secret in task.text for secret in ("Zorble", "Quimby", "77"))


# -- one episode -------------------------------------------------------------------------------


def test_an_episode_is_over_after_one_step(stream: Path) -> None:
    benchmark = ReadingBenchmark(stream)
    episode = benchmark.environment(benchmark.tasks()[0])
    view = episode.view()
    assert (view.observation, view.aids, view.choices) == ("", "", ())
    assert not episode.done
    assert episode.outcome().score == 0.0
    episode.step("Oster")
    assert episode.done
    with pytest.raises(RuntimeError, match="one answer"):
        episode.step("Oster")


def test_an_empty_answer_ends_the_episode_too(stream: Path) -> None:
    benchmark = ReadingBenchmark(stream)
    episode = benchmark.environment(benchmark.tasks()[0])
    episode.step("")
    assert episode.done
    assert episode.outcome().score == 0.0


def test_the_observation_tells_the_length_and_not_the_score(stream: Path) -> None:
    benchmark = ReadingBenchmark(stream)
    right, wrong, long = (benchmark.environment(benchmark.tasks()[0]) for _ in range(3))
    assert right.step("Oster") == wrong.step("Merrin")
    assert "13 words" in long.step("Oster " * 13)


def test_episodes_do_not_share_their_answer(stream: Path) -> None:
    benchmark = ReadingBenchmark(stream)
    task = benchmark.tasks()[0]
    benchmark.environment(task).step("Oster")
    assert not benchmark.environment(task).done


# -- the score ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "answer", "score"),
    [
        (0, "Falk Oster", 1.0),
        (0, "The harbour master is now Oster.", 1.0),
        (0, "Merrin", 0.0),
        (0, "Oster or Merrin", 0.0),
        (0, "I do not know", 0.0),
        (0, "<answer>Merrin</answer> hm <answer>Oster</answer>", 1.0),
        (0, "Oster, then <answer>Merrin</answer>", 0.0),
        (1, "Heron, Petrel", 1.0),
        (1, "- Petrel\n- Heron", 1.0),
        (1, "Petrel", 0.5),
        (1, "Petrel, Heron, Wren", 0.5),
        (1, "Petrel, Heron, Old Tom, Wren", 0.0),
        (1, "Old Tom, Wren", 0.0),
    ],
)
def test_an_answer_scores(stream: Path, at: int, answer: str, score: float) -> None:
    assert outcome(stream, at, answer).score == score


def test_an_answer_over_the_limit_scores_nothing(stream: Path) -> None:
    """Twelve words are accepted, the thirteenth is one too many; ``match`` tells it was there."""
    accepted = outcome(stream, 0, "Oster" + " yes" * 11)
    refused = outcome(stream, 0, "Oster" + " yes" * 12)
    assert (accepted.score, accepted.metrics["too_long"]) == (1.0, 0.0)
    assert (refused.score, refused.metrics["too_long"]) == (0.0, 1.0)
    assert refused.metrics["match"] == 1.0
    assert refused.metrics["words"] == 13.0


def test_each_further_group_allows_more_words(stream: Path) -> None:
    """Two groups allow 12 + 4 words by default; both figures can be set."""
    answer = "Petrel Heron" + " yes" * 14
    assert outcome(stream, 1, answer).score == 1.0
    assert outcome(stream, 1, answer + " yes").score == 0.0
    assert outcome(stream, 1, answer, limit=12, limit_more=3).score == 0.0
    assert outcome(stream, 1, answer, limit=15, limit_more=1).score == 1.0


def test_words_outside_the_answer_tags_are_free(stream: Path) -> None:
    assert outcome(stream, 0, "hm " * 50 + "<answer>Oster</answer>").score == 1.0


def test_metrics_tell_both_accuracies_and_the_wrong_values(stream: Path) -> None:
    metrics = outcome(stream, 1, "Petrels and Heron, no Wren").metrics
    assert metrics == {"match": 0.5, "contains": 1.0, "wrong": 1.0, "words": 5.0, "too_long": 0.0}


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("Oster", "Oster"),
        ("  two\nlines ", "two\nlines"),
        ("<answer> Oster </answer> because", "Oster"),
        ("<ANSWER>Oster</Answer>", "Oster"),
        ("<answer>a</answer><answer>b</answer>", "b"),
        ("<answer>a<answer>b</answer>", "b"),
        ("<answer>a</answer> <answer>b", "a"),
        ("<answer>Oster", "Oster"),
        ("Oster</answer>", "Oster"),
        ("<answer></answer> Oster", ""),
        ("", ""),
    ],
)
def test_the_answer_in_an_action(action: str, answer: str) -> None:
    """The last complete pair counts, else all of the text without stray tags."""
    assert extract(action) == answer


DEMO = ReadingBenchmark("demo")


@settings(deadline=None)  # A busy machine is no failure.
@given(action=st.text())
def test_any_text_is_an_answer_with_a_score_in_range(action: str) -> None:
    for task in DEMO.tasks():
        episode = DEMO.environment(task)
        episode.step(action)
        assert 0.0 <= episode.outcome().score <= 1.0


# -- facts -------------------------------------------------------------------------------------


def test_facts_name_the_stream_and_the_limits(stream: Path) -> None:
    facts = dict(ReadingBenchmark(stream).facts)
    digest = facts.pop("digest")
    assert facts == {"source": "own.jsonl", "items": 2, "limit": 12, "limit_more": 4}
    assert len(digest) == 64
    assert ReadingBenchmark(stream).facts["digest"] == digest


@pytest.mark.parametrize(
    "change",
    [{"question": "Who?"}, {"aliases": ["Oster"]}, {"wrong": ["Goss"]}, {"family": "one-fact"}],
)
def test_the_digest_follows_what_is_asked_and_how_it_is_scored(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    digests = set()
    for number, row in enumerate((HARBOUR, HARBOUR | change)):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row))
        digests.add(ReadingBenchmark(path).facts["digest"])
    assert len(digests) == 2


# -- streams that are not usable ---------------------------------------------------------------


def without(field: str) -> str:
    return json.dumps({key: value for key, value in HARBOUR.items() if key != field})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "own.jsonl, line 2: not JSON"),
        ("[" * 3000, "own.jsonl, line 2: not JSON"),
        ('{"id": "\\ud800"}', "own.jsonl, line 2: not JSON"),
        ("[]", "own.jsonl, line 2: not a JSON object"),
        ("7", "own.jsonl, line 2: not a JSON object"),
        (json.dumps(BOATS), "own.jsonl, line 2: id 'x2' was used in line 1"),
        (without("id"), "line 2: no field 'id'"),
        (without("family"), "line 2: no field 'family'"),
        (without("question"), "line 2: no field 'question'"),
        (without("passages"), "line 2: no field 'passages'"),
        (without("aliases"), "line 2: needs either 'aliases' or 'groups'"),
        (json.dumps(HARBOUR | {"groups": [["x"]]}), "line 2: needs either 'aliases' or 'groups'"),
        (json.dumps(HARBOUR | {"alias": ["x"]}), "line 2: unknown field 'alias'"),
        (json.dumps(HARBOUR | {"aliases": []}), "line 2: 'aliases' is no list with a text"),
        (json.dumps(HARBOUR | {"aliases": "Oster"}), "line 2: 'aliases' is no list with a text"),
        (json.dumps(HARBOUR | {"aliases": None}), "line 2: 'aliases' is no list with a text"),
        (json.dumps(HARBOUR | {"aliases": [""]}), "line 2: 'aliases' holds no text"),
        (json.dumps(HARBOUR | {"aliases": [3]}), "line 2: 'aliases' holds no text"),
        (json.dumps(HARBOUR | {"passages": []}), "line 2: 'passages' is no list with a text"),
        (json.dumps(HARBOUR | {"passages": {}}), "line 2: 'passages' is no list with a text"),
        (json.dumps(HARBOUR | {"question": " "}), "line 2: 'question' holds no text"),
        (json.dumps(HARBOUR | {"id": 5}), "line 2: 'id' holds no text"),
        (json.dumps(HARBOUR | {"wrong": []}), "line 2: 'wrong' is no list with a text"),
        (json.dumps(BOATS | {"id": "x3", "groups": []}), "line 2: 'groups' is no list with a gr"),
        (json.dumps(BOATS | {"id": "x3", "groups": [[]]}), "line 2: 'groups' is no list with a t"),
        (json.dumps(BOATS | {"id": "x3", "groups": "ab"}), "line 2: 'groups' is no list with a gr"),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(BOATS)}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        ReadingBenchmark(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_items_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"own\.jsonl: no items"):
        ReadingBenchmark(path)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(BadInput, match=r"own\.jsonl, line 1: not JSON"):
        ReadingBenchmark(path)


@pytest.mark.parametrize("source", ["no-such-stream", "", "nul\0"])
def test_a_source_that_is_no_file_is_refused(source: str) -> None:
    """The message names the two streams that ship."""
    with pytest.raises(BadInput, match="one of standard, demo") as caught:
        ReadingBenchmark(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0, -1, True, 3.0, "12", None, [12]])
@pytest.mark.parametrize("option", ["limit", "limit_more"])
def test_a_limit_is_a_whole_number_of_at_least_one(option: str, value: object) -> None:
    with pytest.raises(BadInput) as caught:
        open_benchmark("reading", {"source": "demo", option: value})
    assert str(caught.value) == f"{option} is {value!r}; give a whole number of at least 1"


@pytest.mark.parametrize("source", [3, True, None, ["demo"], {"a": "b"}])
def test_a_source_is_a_text(source: object) -> None:
    with pytest.raises(BadInput, match=r"^source is .*; give standard or demo, or the path"):
        open_benchmark("reading", {"source": source})


def test_an_unknown_option_is_told_with_those_there_are() -> None:
    with pytest.raises(BadInput) as caught:
        open_benchmark("reading", {"source": "demo", "nam": 1})
    assert str(caught.value) == (
        "[benchmark] reading: unknown option 'nam'; known: source, limit, limit_more"
    )


def test_a_mistake_inside_a_benchmark_is_no_mistake_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("of our own")

    monkeypatch.setattr("discernmem.replayers.benchmarks.reading.parse_items", broken)
    with pytest.raises(TypeError, match="of our own"):
        open_benchmark("reading", {"source": "demo"})
