"""Scores, steps and observations follow AgentBoard's rules."""

import random

import pytest

from discernmem.replayers.benchmarks.base import Task
from discernmem.replayers.benchmarks.pddl import PddlBenchmark
from discernmem.replayers.benchmarks.pddl.benchmark import PddlEnvironment
from discernmem.replayers.benchmarks.pddl.problems import read_table


@pytest.fixture(scope="module")
def plain() -> PddlBenchmark:
    return PddlBenchmark(profile="agentboard")


def play(benchmark: PddlBenchmark, domain: str, line: str) -> PddlEnvironment:
    """A fresh episode on one line of a table."""
    (entry,) = read_table(f'{domain} = "0 {line}"', "test")
    problem = entry.problem
    data = {
        "objects": problem.objects,
        "init": [list(fact) for fact in problem.init],
        "goals": [list(fact) for fact in problem.goals],
    }
    return benchmark.environment(Task(id="t", domain=domain, text="", data=data))


def test_progress_is_the_best_share_of_goals_and_survives_undoing(plain: PddlBenchmark) -> None:
    episode = play(plain, "gripper", "a aa→bb")
    for action in ("pick ball1 rooma left", "move rooma roomb", "drop ball1 roomb left"):
        episode.step(action)
    assert episode.outcome().score == 0.5
    episode.step("pick ball1 roomb left")
    assert episode.outcome().score == 0.5
    assert not episode.done


def test_the_score_starts_at_zero_even_where_a_goal_holds(plain: PddlBenchmark) -> None:
    """It counts once the first applied move keeps it, not before and not by a check."""
    episode = play(plain, "gripper", "a ab→bb")
    episode.step("check valid actions")
    episode.step("fly")
    assert episode.outcome().score == 0.0
    episode.step("move rooma roomb")
    assert episode.outcome().score == 0.5


def test_a_goal_that_the_first_move_breaks_does_not_count(plain: PddlBenchmark) -> None:
    episode = play(plain, "gripper", "b ab→bb")
    episode.step("pick ball2 roomb left")
    assert episode.outcome().score == 0.0


def test_an_episode_ends_when_all_goals_hold_at_once(plain: PddlBenchmark) -> None:
    episode = play(plain, "blockworld", "b1 b2 b3 | b1>b2 b3>b1")
    for action in ("pickup b1", "stack b1 b2", "pickup b3", "stack b3 b1"):
        assert not episode.done
        episode.step(action)
    assert episode.done
    assert episode.outcome().score == 1.0
    assert episode.outcome().metrics["success"] == 1.0
    with pytest.raises(ValueError, match="the episode is over"):
        episode.step("unstack b3 b1")


def test_goals_met_one_after_the_other_do_not_solve(plain: PddlBenchmark) -> None:
    """The maximum is over states: two goals that each held once are worth one."""
    episode = play(plain, "gripper", "a aa→bb")
    for ball in ("ball1", "ball2"):
        episode.step(f"pick {ball} rooma left")
        episode.step("move rooma roomb")
        episode.step(f"drop {ball} roomb left")
        episode.step(f"pick {ball} roomb left")
        episode.step("move roomb rooma")
        episode.step(f"drop {ball} rooma left")
    assert episode.outcome().score == 0.5
    assert not episode.done


def test_refusals_and_checks_cost_a_step_and_leave_the_state() -> None:
    benchmark = PddlBenchmark("demo", profile="agentboard", steps=3)
    episode = benchmark.environment(benchmark.tasks()[0])
    before = episode.step("check valid actions")
    refusal = episode.step("drop ball1 rooma left")
    assert refusal.startswith("Refused: ")
    assert episode.step("check valid actions") == before
    assert episode.done
    metrics = episode.outcome().metrics
    assert (metrics["steps"], metrics["checks"], metrics["refused"]) == (3.0, 2.0, 1.0)
    assert (episode.outcome().score, metrics["success"]) == (0.0, 0.0)


def test_a_move_that_changes_nothing_is_an_applied_move(plain: PddlBenchmark) -> None:
    """Cleaning a clean shaker: the answer says that nothing new became true."""
    episode = play(plain, "barman", "shots1 c1=1+2 | shot1:i1")
    episode.step("grasp left shaker1")
    assert episode.step("clean-shaker left right shaker1") == "Nothing new became true."
    assert episode.outcome().metrics["applied"] == 2.0


def test_gripper_and_blockworld_show_the_whole_state_each_step(plain: PddlBenchmark) -> None:
    episode = play(plain, "blockworld", "b1/b2 b3 | b2>b3")
    assert episode.view().observation == (
        "b1 is on the table. b2 is clear. b2 is on b1. b3 is clear. b3 is on the table. "
        "the arm is empty."
    )
    assert episode.step("unstack b2 b1") == (
        "b1 is clear. b1 is on the table. b3 is clear. b3 is on the table. the arm holds b2."
    )
    assert "rooma is a room." in play(plain, "gripper", "a a→b").step("move rooma roomb")


def test_barman_and_tyreworld_show_what_became_true(plain: PddlBenchmark) -> None:
    episode = play(plain, "tyreworld", "hubs1 | on1")
    assert "wrench is in boot." in episode.view().observation
    assert episode.step("open boot") == "boot is open."
    assert episode.view().observation == "boot is open."
    episode = play(plain, "barman", "shots1 c1=1+2 | shot1:i1")
    episode.step("grasp left shot1")
    fill = "fill-shot shot1 ingredient1 left right dispenser1"
    assert episode.step(fill) == "shot1 contains ingredient1. shot1 was used for ingredient1."
    assert episode.done


def test_the_aids_are_the_valid_actions_and_the_unmet_goals(
    paper: PddlBenchmark, plain: PddlBenchmark
) -> None:
    assert play(paper, "gripper", "a ab→bb").view().aids == (
        "Valid actions: move rooma roomb; pick ball1 rooma left; pick ball1 rooma right.\n"
        "Goals not met now: ball1 is at roomb."
    )
    bare = play(plain, "gripper", "a ab→bb").view()
    assert (bare.aids, bare.choices) == ("", ())


def test_each_aid_is_a_switch_of_its_own() -> None:
    one = PddlBenchmark("demo", profile="agentboard", valid_actions=True)
    other = PddlBenchmark("demo", unmet_goals=True, valid_actions=False)
    assert one.environment(one.tasks()[4]).view().aids == "Valid actions: pickup b1; pickup b2."
    assert other.environment(other.tasks()[4]).view().aids == "Goals not met now: b1 is on b2."


def test_choices_are_the_valid_short_forms_when_replies_are_constrained() -> None:
    benchmark = PddlBenchmark("demo", profile="agentboard", constrain_actions=True)
    episode = benchmark.environment(benchmark.tasks()[0])
    view = episode.view()
    assert view.choices == (
        "move rooma roomb",
        "pick ball1 rooma left",
        "pick ball1 rooma right",
    )
    assert view.aids == ""
    episode.step("move rooma roomb")
    assert episode.view().choices == ("move roomb rooma",)


def test_equal_actions_make_equal_episodes(paper: PddlBenchmark) -> None:
    """Twice the same seeded player on a barman problem, every view and score compared."""
    records = []
    for _ in range(2):
        player = random.Random(7)
        episode = paper.environment(paper.tasks()[30])
        seen: list[object] = []
        while not episode.done:
            view = episode.view()
            listed = view.aids.splitlines()[0].removeprefix("Valid actions: ").rstrip(".")
            seen += [view, episode.step(player.choice(listed.split("; "))), episode.outcome()]
        records.append(seen)
    assert records[0] == records[1]
    assert len(records[0]) == 90


def test_a_uniformly_random_player_scores_about_a_quarter_with_three_balls() -> None:
    benchmark = PddlBenchmark(steps=12, constrain_actions=True)
    player = random.Random(42)
    scores = []
    for _ in range(400):
        episode = play(benchmark, "gripper", "a aaa→bbb")
        while not episode.done:
            episode.step(player.choice(episode.view().choices))
        scores.append(episode.outcome().score)
    assert 0.20 < sum(scores) / len(scores) < 0.31
