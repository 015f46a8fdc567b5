"""Claims about the reading streams that ship: each item can be answered from its passages alone."""

from __future__ import annotations

import re

import pytest

from discernmem.replayers.benchmarks.answers import match, words
from discernmem.replayers.benchmarks.base import Task
from discernmem.replayers.benchmarks.reading import SHIPPED, ReadingBenchmark

STREAMS = {name: ReadingBenchmark(name) for name in SHIPPED}
TASKS = [(name, task) for name, stream in STREAMS.items() for task in stream.tasks()]
FAMILIES = {
    "one-fact",
    "two-fact",
    "distractor",
    "list",
    "change",
    "number",
    "exception",
    "full-name",
}


def cases(*families: str) -> pytest.MarkDecorator:
    """Run a test on each task of these families, or on all."""
    chosen = [
        pytest.param(name, task, id=f"{name}-{task.id}")
        for name, task in TASKS
        if not families or task.domain in families
    ]
    return pytest.mark.parametrize(("name", "task"), chosen)


def tasks_of(*families: str) -> pytest.MarkDecorator:
    """The same, for a test that needs no stream."""
    chosen = [
        pytest.param(task, id=f"{name}-{task.id}")
        for name, task in TASKS
        if not families or task.domain in families
    ]
    return pytest.mark.parametrize("task", chosen)


# Spellings of an answer that the passages do not use, each with the words of theirs it stands for.
SPELLINGS = {
    "4 pence": "four pence",
    "6 shillings": "six shillings",
    "2": "two",
    "80": "eighty",
    "two hours": "2 hours",
    "nine pounds": "9 pounds",
    "9 lb": "9 pounds",
    "six crowns": "6 crowns",
    "12 miles an hour": "12 miles per hour",
    "12 mph": "12 miles per hour",
    "31 meters": "31 metres",
    "31 m": "31 metres",
    "31m": "31 metres",
    "200 meters": "200 metres",
    "200 m": "200 metres",
    "200m": "200 metres",
    "minus 14 degrees": "\u221214 degrees",
}


def passages(task: Task) -> str:
    text = task.text.split("\n\nQuestion: ")[0]
    return re.sub(r"^Passage \d+: ", "", text, flags=re.MULTILINE)


def question(task: Task) -> str:
    return task.text.split("\n\nQuestion: ")[1].splitlines()[0]


def score(name: str, task: Task, answer: str) -> float:
    episode = STREAMS[name].environment(task)
    episode.step(answer)
    return episode.outcome().score


@pytest.mark.parametrize("name", SHIPPED)
def test_a_stream_has_every_family_and_unique_ids(name: str) -> None:
    tasks = STREAMS[name].tasks()
    assert len(tasks) == {"standard": 56, "demo": 14}[name]
    assert len({task.id for task in tasks}) == len(tasks)
    assert {task.domain for task in tasks} == FAMILIES


def test_families_of_the_standard_stream_are_equal_in_size_and_interleaved() -> None:
    """A family comes back in each eighth of the stream, so that a rule can meet its kind again."""
    tasks = STREAMS["standard"].tasks()
    for start in range(0, len(tasks), len(FAMILIES)):
        assert {task.domain for task in tasks[start : start + len(FAMILIES)]} == FAMILIES


@cases()
def test_passages_are_as_short_as_small_models_need(name: str, task: Task) -> None:
    fewest, most = {"standard": (40, 110), "demo": (20, 60)}[name]
    assert fewest <= len(passages(task).split()) <= most


@tasks_of()
def test_every_alias_is_in_the_passages(task: Task) -> None:
    """As it stands, or as a listed spelling of what stands there; the first always as it stands."""
    text = passages(task)
    for group in task.data["groups"]:
        assert match(text, [group[0]])
        for alias in group:
            assert match(text, [SPELLINGS.get(alias, alias)])


@tasks_of()
def test_the_question_gives_nothing_away(task: Task) -> None:
    asked = question(task)
    for values in [*task.data["groups"], task.data["wrong"]]:
        assert not match(asked, values)


@cases()
def test_the_right_answer_scores_one(name: str, task: Task) -> None:
    """In every spelling, bare and in answer tags."""
    groups = task.data["groups"]
    for at in range(max(len(group) for group in groups)):
        answer = ", ".join(group[min(at, len(group) - 1)] for group in groups)
        assert score(name, task, answer) == 1.0
        assert score(name, task, f"It says so: <answer>{answer}</answer>") == 1.0


@cases()
def test_the_passages_and_the_question_are_no_answer(name: str, task: Task) -> None:
    assert score(name, task, passages(task)) == 0.0
    assert score(name, task, question(task)) == 0.0
    assert score(name, task, "") == 0.0


@cases()
def test_a_wrong_value_from_the_passages_scores_zero(name: str, task: Task) -> None:
    """Alone, and for a single answer beside the right one; no wrong value hides in a right one."""
    for value in task.data["wrong"]:
        assert match(passages(task), [value])
        assert score(name, task, value) == 0.0
        if len(task.data["groups"]) == 1:
            assert score(name, task, f"{task.data['groups'][0][0]} or {value}") == 0.0


@cases("list")
def test_naming_every_candidate_of_a_list_earns_less_than_the_list(name: str, task: Task) -> None:
    groups = task.data["groups"]
    assert len(groups) > 1
    everything = ", ".join([*(group[0] for group in groups), *task.data["wrong"]])
    assert task.data["wrong"]
    assert score(name, task, everything) < 1.0


@cases("number")
def test_a_number_without_its_unit_scores_zero(name: str, task: Task) -> None:
    number = words(task.data["groups"][0][0])[0]
    assert score(name, task, number) == 0.0


@cases("full-name")
def test_a_part_of_a_full_name_scores_zero(name: str, task: Task) -> None:
    full = task.data["groups"][0][0].split()
    assert score(name, task, full[-1]) == 0.0
    assert score(name, task, " ".join(full[1:])) == 0.0


@tasks_of("distractor", "change", "exception")
def test_a_tempting_item_names_what_tempts(task: Task) -> None:
    assert task.data["wrong"]
