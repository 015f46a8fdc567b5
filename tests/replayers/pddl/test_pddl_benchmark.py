"""The switches of the benchmark: what they change, and that the run header shows it."""

import json

import attrs
import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.base import Benchmark, Environment
from discernmem.replayers.benchmarks.pddl import PddlBenchmark


def test_the_stream_has_sixty_tasks_in_four_runs_of_a_domain(paper: PddlBenchmark) -> None:
    benchmark: Benchmark = paper
    tasks = benchmark.tasks()
    assert [task.id for task in tasks] == [f"pddl-{number:02}" for number in range(60)]
    domains = [task.domain for task in tasks]
    assert domains == (
        ["gripper"] * 20 + ["blockworld"] * 10 + ["barman"] * 20 + ["tyreworld"] * 10
    )
    environment: Environment = benchmark.environment(tasks[0])
    assert not environment.done


def test_task_data_and_facts_are_plain_json(paper: PddlBenchmark) -> None:
    for task in paper.tasks():
        assert json.loads(json.dumps(task.data)) == task.data
    assert json.loads(json.dumps(paper.facts)) == paper.facts


def test_the_environment_plays_from_data_that_went_through_json(paper: PddlBenchmark) -> None:
    task = paper.tasks()[21]
    copy = attrs.evolve(task, data=json.loads(json.dumps(task.data)))
    assert paper.environment(copy).view() == paper.environment(task).view()


def test_the_text_tells_rules_argument_order_and_goal_but_not_the_initial_state(
    paper: PddlBenchmark,
) -> None:
    text = paper.tasks()[22].text
    assert "- stack <block> <below>, or: stack <block> on <below>. Needs: " in text
    assert text.endswith("Goal, within 30 steps: b2 is on b3. b3 is on b1.")
    assert "on the table." in text
    assert "b1 is on the table" not in text
    assert "Example" not in text


def test_a_worked_example_is_a_plan_that_works() -> None:
    """Each domain's example is played: its objects are renamed to those of a small problem."""
    benchmark = PddlBenchmark(worked_example=True)
    renamed = {"ball9": "ball1", "b8": "b1", "b9": "b2", "shot9": "shot1", "r9": "r1"}
    for number, goals in ((0, 0.25), (29, 1 / 6), (43, 1.0), (55, 1 / 3)):
        task = benchmark.tasks()[number]
        example = task.text.split("Example. ")[1].split("\n\n")[0]
        episode = benchmark.environment(task)
        for line in example.splitlines()[1:]:
            for old, new in renamed.items():
                line = line.replace(old, new)
            assert "Refused" not in episode.step(line), line
        assert episode.outcome().score == pytest.approx(goals), task.domain


@pytest.mark.parametrize(
    "options",
    [
        {"problems": "demo"},
        {"profile": "agentboard"},
        {"steps": 12},
        {"constrain_actions": True},
        {"worked_example": True},
        {"valid_actions": False},
        {"unmet_goals": False},
    ],
)
def test_every_switch_shows_in_the_facts(paper: PddlBenchmark, options: dict[str, object]) -> None:
    assert PddlBenchmark(**options).facts != paper.facts  # type: ignore[arg-type]


def test_the_profiles_differ_in_the_two_aids(paper: PddlBenchmark) -> None:
    other = PddlBenchmark(profile="agentboard").facts
    assert (paper.facts["valid_actions"], paper.facts["unmet_goals"]) == (True, True)
    assert (other["valid_actions"], other["unmet_goals"]) == (False, False)
    assert paper.facts["digest"] == other["digest"]


def test_the_demo_has_small_problems_under_ids_of_their_own() -> None:
    tasks = PddlBenchmark("demo", steps=8, worked_example=True).tasks()
    assert [task.id for task in tasks] == [f"pddl-demo-{number:02}" for number in range(8)]
    assert all(1 <= len(task.data["goals"]) <= 2 for task in tasks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "paper"}, "profile 'paper' is unknown; use conmem or agentboard"),
        ({"profile": ["conmem"]}, r"profile \['conmem'\] is unknown"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": "30"}, "steps is '30'"),
        ({"steps": True}, "steps is True"),
        ({"valid_actions": "yes"}, "valid_actions is 'yes'; give true or false"),
        ({"worked_example": 1}, "worked_example is 1; give true or false"),
        ({"problems": "papers"}, "problems 'papers' is no folder"),
    ],
)
def test_a_bad_option_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        PddlBenchmark(**options)  # type: ignore[arg-type]
