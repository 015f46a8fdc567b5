"""How many steps the problems take, proven with the core itself.

Proven optimal: all twenty gripper problems and the demo's eight, by breadth-first search over
states up to symmetry. For the other forty a plan shows the most, and for problem 53 a count of
unavoidable actions shows the least.
"""

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path

import pytest

from discernmem.replayers.benchmarks.pddl import PddlBenchmark
from discernmem.replayers.benchmarks.pddl.parse import read_domain
from discernmem.replayers.benchmarks.pddl.problems import Entry, read_table
from discernmem.replayers.benchmarks.pddl.strips import Domain, Game, ground

DATA = Path(__file__).resolve().parents[3] / "data" / "pddl"
DOMAINS: dict[str, Domain] = {
    name: read_domain((DATA / f"{name}.pddl").read_text(), name)
    for name in ("gripper", "blockworld", "barman", "tyreworld")
}
PAPER = read_table((DATA / "paper.toml").read_text(encoding="utf-8"), "paper.toml")
DEMO = read_table((DATA / "demo.toml").read_text(encoding="utf-8"), "demo.toml")
TOO_LONG = {4, 14, 15, 16, 53}


def game_of(entry: Entry) -> Game:
    return ground(DOMAINS[entry.domain], entry.problem)


# -- the least: search and counting ----------------------------------------------------------------


def shortest(game: Game, canonical: Callable[[int], Hashable]) -> int:
    """Optimal length by breadth-first search; states of equal ``canonical`` are one state."""
    level, length, seen = [game.initial], 0, {canonical(game.initial)}
    while level:
        if any(game.satisfied(state) == len(game.goals) for state in level):
            return length
        following = []
        for state in level:
            for move in game.applicable(state):
                after = move.after(state)
                key = canonical(after)
                if key not in seen:
                    seen.add(key)
                    following.append(after)
        level, length = following, length + 1
    raise AssertionError("no plan")


def balls_alike(entry: Entry, game: Game) -> Callable[[int], Hashable]:
    """Gripper up to renaming balls of one destination and swapping the two grippers."""
    bits = {fact: 1 << bit for bit, fact in enumerate(game.facts)}
    robot = bits["at-robby", "rooma"]
    balls = [
        (room, bits.get(("at", ball, "rooma"), 0), bits.get(("at", ball, "roomb"), 0))
        for _, ball, room in entry.problem.goals
    ]

    def canonical(state: int) -> Hashable:
        places = ((room, bool(state & a), bool(state & b)) for room, a, b in balls)
        return bool(state & robot), tuple(sorted(places))

    return canonical


def unavoidable(game: Game) -> int:
    """A lower bound: the moves without which the goals are out of reach even if nothing is lost."""

    def reachable(without: str) -> bool:
        moves = [move for move in game.moves if move.text != without]
        state, grown = game.initial, -1
        while state != grown:
            grown = state
            for move in moves:
                if move.needs & state == move.needs:
                    state |= move.adds
        return game.satisfied(state) == len(game.goals)

    return sum(not reachable(move.text) for move in game.moves)


@pytest.mark.parametrize("entry", PAPER[:20], ids=lambda entry: str(entry.number))
def test_the_optimal_length_of_every_gripper_problem_is_the_tables(entry: Entry) -> None:
    game = game_of(entry)
    assert shortest(game, balls_alike(entry, game)) == entry.optimal


@pytest.mark.parametrize("entry", DEMO, ids=lambda entry: str(entry.number))
def test_every_demo_problem_takes_the_steps_its_table_says_and_at_most_six(entry: Entry) -> None:
    assert shortest(game_of(entry), lambda state: state) == entry.optimal
    assert entry.optimal is not None
    assert entry.optimal <= 6


def test_symmetry_does_not_change_an_optimal_length() -> None:
    for line in ("a aab→bba", "b abb→bab", "a aaa→bbb"):
        (entry,) = read_table(f'gripper = "0 {line}"', "test")
        game = game_of(entry)
        assert shortest(game, balls_alike(entry, game)) == shortest(game, lambda state: state)


def test_five_problems_do_not_fit_in_thirty_steps() -> None:
    long = {entry.number for entry in PAPER[:20] if (entry.optimal or 0) > 30}
    assert long == TOO_LONG - {53}
    assert unavoidable(game_of(PAPER[53])) > 30
    assert 30 >= unavoidable(game_of(PAPER[52])) > 20


# -- the most: plans -------------------------------------------------------------------------------


def blockworld_plan(entry: Entry) -> Iterable[str]:
    """Everything onto the table from the top, then the goal stacks from the bottom."""
    below = {fact[1]: fact[2] for fact in entry.problem.init if fact[0] == "on"}
    while below:
        top = next(block for block in sorted(below) if block not in below.values())
        yield from (f"unstack {top} {below.pop(top)}", f"putdown {top}")
    wanted = {goal[1]: goal[2] for goal in entry.problem.goals}
    while wanted:
        block = next(block for block in sorted(wanted) if wanted[block] not in wanted)
        yield from (f"pickup {block}", f"stack {block} {wanted.pop(block)}")


def barman_plan(entry: Entry) -> Iterable[str]:
    """Cocktails through one glass no goal names, then the plain drinks."""
    goals = sorted(entry.problem.goals, key=lambda goal: (goal[2], goal[1]))
    named = {shot for _, shot, _ in goals}
    shots = sorted(name for name, kind in entry.problem.objects.items() if kind == "shot")
    parts = {(f[0][-1], f[1]): f[2] for f in entry.problem.init if f[0].startswith("cocktail-part")}
    glass = next(shot for shot in shots if shot not in named)
    last = mixed = ""
    for _, shot, drink in (goal for goal in goals if goal[2].startswith("cocktail")):
        first, second = parts["1", drink], parts["2", drink]
        if last:
            yield f"empty-shaker left shaker1 {mixed} l1 l0"
            yield "clean-shaker left right shaker1"
            yield "leave left shaker1"
        yield f"grasp left {glass}"
        if last:
            yield f"clean-shot {glass} {last} left right"
        yield f"fill-shot {glass} {first} left right dispenser{first[-1]}"
        yield f"pour-shot-to-clean-shaker {glass} {first} shaker1 left l0 l1"
        yield f"clean-shot {glass} {first} left right"
        yield f"fill-shot {glass} {second} left right dispenser{second[-1]}"
        yield f"pour-shot-to-used-shaker {glass} {second} shaker1 left l1 l2"
        yield f"leave left {glass}"
        yield "grasp left shaker1"
        yield f"shake {drink} {first} {second} shaker1 left right"
        yield f"pour-shaker-to-shot {drink} {shot} left shaker1 l2 l1"
        last, mixed = second, drink
    if last:
        yield "leave left shaker1"
    for _, shot, drink in (goal for goal in goals if goal[2].startswith("ingredient")):
        yield f"grasp left {shot}"
        yield f"fill-shot {shot} {drink} left right dispenser{drink[-1]}"
        yield f"leave left {shot}"


def tyreworld_plan(entry: Entry) -> Iterable[str]:
    """Tools out of the boot, spares inflated, then one hub after the other."""
    goals, init = entry.problem.goals, entry.problem.init
    wheels = sorted({goal[1] for goal in goals if goal[0] in ("on", "in")})
    hubs = sorted({name[1:] for name in wheels})
    tools = ["wrench", "jack"] if hubs else []
    tools += ["pump"] if any(goal[0] == "inflated" for goal in goals) else []
    if ("closed", "boot") in init:
        yield "open boot"
    yield from (f"fetch {tool} boot" for tool in tools)
    yield from sorted(f"inflate {goal[1]}" for goal in goals if goal[0] == "inflated")
    for last, number in enumerate(hubs, 1):
        hub, nut = f"the-hub{number}", f"nuts{number}"
        if ("tight", nut, hub) in init:
            yield f"loosen {nut} {hub}"
        yield from (f"jack-up {hub}", f"undo {nut} {hub}", f"remove-wheel w{number} {hub}")
        if ("on", f"r{number}", hub) in goals:
            yield from (f"fetch r{number} boot", f"put-on-wheel r{number} {hub}")
        if ("in", f"w{number}", "boot") in goals:
            yield f"put-away w{number} boot"
        if last < len(hubs):
            yield f"jack-down {hub}"


PLANS = {"blockworld": blockworld_plan, "barman": barman_plan, "tyreworld": tyreworld_plan}


def test_the_other_fifty_five_fit_in_thirty_steps(paper: PddlBenchmark) -> None:
    """Played in the environment itself: a plan solves each of the forty within the budget."""
    assert all((entry.optimal or 31) <= 30 for entry in PAPER[:20] if entry.number not in TOO_LONG)
    for entry in PAPER[20:]:
        if entry.number in TOO_LONG:
            continue
        episode = paper.environment(paper.tasks()[entry.number])
        for action in PLANS[entry.domain](entry):
            if episode.done:
                break
            assert not episode.step(action).startswith("Refused"), (entry.number, action)
        assert episode.outcome().score == 1.0, entry.number
