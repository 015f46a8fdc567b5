"""The grounded core agrees with unified-planning, an independent simulator, and is fast."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.io import PDDLReader
from unified_planning.model import Problem as OracleProblem
from unified_planning.shortcuts import get_environment

from discernmem.replayers.benchmarks.pddl.parse import read_domain
from discernmem.replayers.benchmarks.pddl.problems import read_table
from discernmem.replayers.benchmarks.pddl.strips import Domain, Problem, ground

DATA = Path(__file__).resolve().parents[3] / "data" / "pddl"


def load(name: str, line: str) -> tuple[Domain, Problem, str]:
    text = (DATA / f"{name}.pddl").read_text()
    (entry,) = read_table(f'{name} = "0 {line}"', "test")
    return read_domain(text, name), entry.problem, text


def as_pddl(name: str, problem: Problem) -> str:
    def form(fact: tuple[str, ...]) -> str:
        return f"({' '.join(fact)})"

    objects = " ".join(f"{thing} - {kind}" for thing, kind in problem.objects.items())
    init = " ".join(map(form, sorted(problem.init)))
    goals = " ".join(map(form, sorted(problem.goals)))
    return (
        f"(define (problem p) (:domain {name}) (:objects {objects}) "
        f"(:init {init}) (:goal (and {goals})))"
    )


def oracle(domain: str, problem: str) -> tuple[OracleProblem, UPSequentialSimulator]:
    get_environment().credits_stream = None
    parsed = PDDLReader().parse_problem_string(domain, problem)
    return parsed, UPSequentialSimulator(parsed, error_on_failed_checks=False)


def facts_of(parsed: OracleProblem, state: object) -> frozenset[tuple[str, ...]]:
    def instances() -> Iterator[tuple[str, ...]]:
        for expression in parsed.initial_values:
            if state.get_value(expression).is_true():  # type: ignore[attr-defined]
                yield (expression.fluent().name, *(str(term) for term in expression.args))

    return frozenset(instances())


@pytest.mark.parametrize(
    ("name", "line", "listed"),
    [
        ("gripper", "a aba→bbb", 25),
        ("blockworld", "b1/b2 b3/b4 | b1>b4 b2>b3", 25),
        ("barman", "shots2 c1=1+3 | shot1:c1", 8),
    ],
)
def test_a_random_walk_has_the_actions_and_states_of_unified_planning(
    name: str, line: str, listed: int
) -> None:
    """400 steps; listing every action takes the oracle long, so it is done for the first ones."""
    domain, problem, text = load(name, line)
    game = ground(domain, problem)
    parsed, simulator = oracle(text, as_pddl(name, problem))
    player = random.Random(3)
    state, mirror = game.initial, simulator.get_initial_state()
    for step in range(400):
        ours = game.applicable(state)
        if step < listed:
            theirs = [
                " ".join((action.name, *map(str, arguments)))
                for action, arguments in simulator.get_applicable_actions(mirror)
                if len(set(map(str, arguments))) == len(arguments)
            ]
            assert [move.text for move in ours] == sorted(theirs)
        move = player.choice(ours)
        arguments = tuple(parsed.object(argument) for argument in move.arguments)
        assert simulator.is_applicable(mirror, parsed.action(move.name), arguments)
        mirror = simulator.apply(mirror, parsed.action(move.name), arguments)
        state = move.after(state)
        assert frozenset(game.holding(state)) == facts_of(parsed, mirror)
    assert (game.satisfied(state) == len(game.goals)) == simulator.is_goal(mirror)


def test_arguments_are_pairwise_distinct() -> None:
    """Unlike in unified-planning, the robot cannot move to the room it is in."""
    domain, problem, _ = load("gripper", "a a→b")
    moves = ground(domain, problem).moves
    assert all(len(set(move.arguments)) == len(move.arguments) for move in moves)
    assert [move.text for move in moves if move.name == "move"] == [
        "move rooma roomb",
        "move roomb rooma",
    ]


def test_a_subtype_may_stand_where_its_parent_is_asked_and_not_the_reverse() -> None:
    domain, problem, _ = load("barman", "shots1 c1=1+2 | shot1:c1")
    game = ground(domain, problem)
    named = {move.text for move in game.moves}
    assert {"grasp left shot1", "grasp left shaker1", "empty-shot left shot1 cocktail1"} <= named
    assert not any(
        move.name == "empty-shaker" and "ingredient1" in move.text for move in game.moves
    )


def test_what_no_action_changes_is_decided_when_grounding() -> None:
    """Only dispensers that hold the ingredient, only levels that follow one another."""
    domain, problem, _ = load("barman", "shots1 c1=1+2 | shot1:c1")
    fills = [move for move in ground(domain, problem).moves if move.name == "fill-shot"]
    assert {(move.arguments[1][-1], move.arguments[4][-1]) for move in fills} == {
        ("1", "1"),
        ("2", "2"),
        ("3", "3"),
    }


def test_an_action_that_adds_what_it_removes_leaves_it_true() -> None:
    text = (
        "(define (domain d) (:predicates (p ?x))"
        "(:action a :parameters (?x) :precondition (p ?x) :effect (and (p ?x) (not (p ?x)))))"
    )
    domain = read_domain(text, "d")
    holds = frozenset({("p", "x")})
    game = ground(domain, Problem(objects={"x": "object"}, init=holds, goals=holds))
    assert game.moves[0].after(game.initial) == game.initial


def test_thousands_of_barman_listings_a_second() -> None:
    """The best of three short runs on a mid-sized problem; the bar leaves room for slow cores."""
    domain, problem, _ = load("barman", "shots5 c1=3+1 c2=2+1 c3=1+2 c4=2+3 | shot1:c2")
    game = ground(domain, problem)
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for _ in range(200):
            game.applicable(game.initial)
        best = max(best, 200 / (time.process_time() - start))
    assert best > 1000
