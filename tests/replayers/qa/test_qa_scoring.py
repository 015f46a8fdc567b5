"""What an answer to a question scores, by both accuracies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.benchmarks.base import Outcome, Task
from discernmem.replayers.benchmarks.qa.episode import QaEnvironment


def task(*aliases: str, limit: int = 12, names: tuple[str, ...] = ()) -> Task:
    data: dict[str, Any] = {
        "aliases": list(aliases),
        "names": list(names or aliases),
        "limit": limit,
    }
    return Task(id="q1", domain="d", text="Which?", data=data)


def answered(action: str, asked: Task, accuracy: str = "match") -> Outcome:
    environment = QaEnvironment(asked, accuracy)
    environment.step(action)
    return environment.outcome()


@pytest.mark.parametrize(
    ("gold", "answer", "match", "contains"),
    [
        ("A", "A", 1, 1),
        ("A", "It is grade A", 1, 1),
        ("A", "a dog", 0, 1),
        ("A", "Paris", 0, 1),
        ("The Who", "The Who", 1, 1),
        ("The Who", "the band Who", 1, 0),
        ("The Who", "who", 1, 0),
        ("The Who", "Whoever", 0, 0),
        ("\u22123.5", "-3.5", 1, 0),
        ("-3.5", "\u22123.5 degrees", 1, 0),
        ("-3.5", "3.5", 0, 0),
        ("3.5", "-3.5", 0, 1),
        ("(3.14)", "3.14", 1, 0),
        ("3.14", "(3.14)", 1, 1),
        ("3.14", "3.141", 0, 1),
        ("US", "Russia", 0, 1),
        ("US", "the US.", 1, 1),
        ("U.S.", "US", 1, 0),
        ("J.R.R. Tolkien", "j r r tolkien", 1, 0),
        ("j r r tolkien", "J.R.R. Tolkien", 1, 0),
        ("J. R. R. Tolkien", "JRR Tolkien", 1, 0),
        ("", "anything", 0, 0),
        ("", "", 0, 0),
        (" ", "any thing", 0, 0),
        ("O\u2019Brien", "O'Brien", 1, 0),
        ("\u201cHeroes\u201d", '"Heroes"', 1, 0),
        ("Beyonc\u00e9", "BEYONCE\u0301", 1, 0),
        ("1,000", "1000", 1, 0),
        ("Saint-\u00c9tienne", "saint \u00e9tienne", 1, 0),
        ("Paris", "London", 0, 0),
    ],
)
def test_the_two_accuracies_differ_where_the_paper_counts_letters(
    gold: str, answer: str, match: int, contains: int
) -> None:
    metrics = answered(f"<answer>{answer}</answer>", task(gold)).metrics
    assert (metrics["match"], metrics["contains"]) == (match, contains)


@pytest.mark.parametrize(
    ("action", "score"),
    [
        ("<answer>Pisa</answer>", 1),
        ("It leans. <ANSWER> Pisa </ANSWER> Done.", 1),
        ("<answer>London</answer> no, <answer>Pisa</answer>", 1),
        ("<answer>Pisa</answer> no, <answer>London</answer>", 0),
        ("Pisa is wrong: <answer>London</answer>", 0),
        ("<answer>Pisa", 1),
        ("<answer>Pisa</answer> <answer>cut off", 1),
        ("Pisa", 1),
        ("The tower stands in Pisa.", 1),
        ("<answer></answer>", 0),
        ("", 0),
    ],
)
def test_the_last_complete_pair_of_tags_holds_the_answer_or_else_the_whole_reply(
    action: str, score: int
) -> None:
    assert answered(action, task("Pisa")).score == score


def test_an_answer_that_names_every_candidate_matches_nothing_and_still_contains_it() -> None:
    cities = "Rome, Milan, Turin, Genoa, Pisa, Siena, Lucca, Bari, Parma, Trent, Udine, Como, Asti"
    outcome = answered(f"<answer>{cities}</answer>", task("Pisa"))
    assert outcome.score == 0
    assert outcome.metrics == {
        "match": 0.0,
        "contains": 1.0,
        "words": 13.0,
        "too_long": 1.0,
        "answered": 1.0,
    }
    assert answered(cities, task("Pisa"), "contains").score == 1
    assert answered(cities, task("Pisa", limit=13)).score == 1


def test_the_team_is_told_that_its_answer_is_too_long_and_never_whether_it_is_right() -> None:
    told = {
        QaEnvironment(task("Pisa"), "match").step(f"<answer>{answer}</answer>")
        for answer in ("Pisa", "London", "")
    }
    assert told == {"The answer was taken."}
    said = QaEnvironment(task("Pisa", limit=2), "match").step("Pisa in Italy")
    assert said == "The answer has 3 words; more than 2 are not accepted."


def test_the_spellings_an_alias_was_made_from_count_for_match_alone() -> None:
    outcome = answered("3.14", task("3 14", names=("3 14", "3.14")))
    assert outcome.metrics["match"] == 1
    assert outcome.metrics["contains"] == 0


def test_an_episode_takes_one_answer() -> None:
    environment = QaEnvironment(task("Pisa"), "match")
    assert not environment.done
    assert environment.view().observation == ""
    assert environment.outcome().score == 0
    assert environment.outcome().metrics["answered"] == 0
    environment.step("Pisa")
    assert environment.done
    with pytest.raises(RuntimeError, match="given already"):
        environment.step("Pisa")


@given(st.text(), st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_any_reply_gets_a_score_that_is_one_of_its_metrics(reply: str, aliases: list[str]) -> None:
    for accuracy in ("match", "contains"):
        outcome = answered(reply, task(*aliases), accuracy)
        assert outcome.score == outcome.metrics[accuracy]
        assert outcome.score in (0.0, 1.0)


@given(st.sampled_from(["Pisa", "J.R.R. Tolkien", "\u22123.5", "The Who", "A"]), st.booleans())
def test_the_accepted_answer_itself_is_always_right(gold: str, tagged: bool) -> None:
    reply = f"<answer>{gold}</answer>" if tagged else gold
    metrics = answered(reply, task(gold)).metrics
    assert (metrics["match"], metrics["contains"]) == (1.0, 1.0)
