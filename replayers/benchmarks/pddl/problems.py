"""The table-driven generator: one short line of a table becomes one planning problem.

The notation is explained at the head of ``data/pddl/paper.toml``. Objects are named as in
AgentBoard's files, so that a generated problem and its file read the same to a team.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import attrs

from ....eventlog.errors import BadInput
from .strips import ROOT_TYPE, Fact, Problem

LINE = re.compile(r"(?P<number>\d+) (?P<body>.*?)(?: \[(?P<optimal>\d+)\])?")


@attrs.frozen(kw_only=True)
class Entry:
    """One line of a table: its number in the stream, its domain, its problem.

    ``optimal`` is the least number of steps that solves it, where the table says so.
    """

    number: int
    domain: str
    problem: Problem
    optimal: int | None


def read_table(text: str, source: str) -> tuple[Entry, ...]:
    """The problems of a table in stream order.

    Raises:
        BadInput: a line is not in the notation; the message names the line.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{source}: not TOML ({error}); correct the table") from None
    entries: list[Entry] = []
    for domain, lines in table.items():
        if domain not in MAKERS or not isinstance(lines, str):
            raise BadInput(f"{source}: no domain {domain}; use one of {', '.join(MAKERS)}")
        for line in filter(None, map(str.strip, lines.splitlines())):
            found = LINE.fullmatch(line)
            try:
                if found is None or int(found["number"]) != len(entries):
                    raise ValueError(f"expected number {len(entries)}")
                problem = MAKERS[domain](found["body"])
            except ValueError as error:
                raise BadInput(
                    f"{source}: {domain} line {line!r} is not in the notation ({error}); "
                    "see the head of paper.toml"
                ) from None
            optimal = int(found["optimal"]) if found["optimal"] else None
            entries.append(
                Entry(number=len(entries), domain=domain, problem=problem, optimal=optimal)
            )
    return tuple(entries)


def _gripper(body: str) -> Problem:
    found = re.fullmatch(r"([ab]) ([ab]+)→([ab]+)", body)
    if found is None or len(found[2]) != len(found[3]):
        raise ValueError("want: room balls→balls")
    robot, before, after = found.groups()
    balls = [f"ball{place}" for place in range(1, len(before) + 1)]
    rooms = {letter: f"room{letter}" for letter in "ab"}
    hands = ("left", "right")
    init = [
        *(("room", room) for room in rooms.values()),
        *(("ball", ball) for ball in balls),
        *(("gripper", hand) for hand in hands),
        *(("free", hand) for hand in hands),
        ("at-robby", rooms[robot]),
        *(("at", ball, rooms[letter]) for ball, letter in zip(balls, before, strict=True)),
    ]
    goals = [("at", ball, rooms[letter]) for ball, letter in zip(balls, after, strict=True)]
    return _problem({ROOT_TYPE: (*rooms.values(), *balls, *hands)}, init, goals)


def _blockworld(body: str) -> Problem:
    left, right = _halves(body)
    stacks = [stack.split("/") for stack in left]
    init: list[Fact] = [("arm-empty",)]
    for stack in stacks:
        init += [("on-table", stack[0]), ("clear", stack[-1])]
        init += [("on", block, below) for below, block in pairwise(stack)]
    blocks = [block for stack in stacks for block in stack]
    goals = [("on", *_pair(goal, ">")) for goal in right]
    return _problem({ROOT_TYPE: blocks}, init, goals)


def _barman(body: str) -> Problem:
    left, right = _halves(body)
    shots = _numbered("shot", _count("shots", left[0]))
    recipes = [_pair(_pair(recipe, "=")[1], "+") for recipe in left[1:]]
    cocktails = _numbered("cocktail", len(recipes))
    ingredients, dispensers = _numbered("ingredient", 3), _numbered("dispenser", 3)
    hands, levels = ("left", "right"), ("l0", "l1", "l2")
    init: list[Fact] = [
        *((state, thing) for state in ("ontable", "clean", "empty") for thing in shots),
        *((state, "shaker1") for state in ("ontable", "clean", "empty")),
        *(("handempty", hand) for hand in hands),
        *(("dispenses", *pair) for pair in zip(dispensers, ingredients, strict=True)),
        ("shaker-level", "shaker1", "l0"),
        ("shaker-empty-level", "shaker1", "l0"),
        *(("next", *pair) for pair in pairwise(levels)),
    ]
    for cocktail, parts in zip(cocktails, recipes, strict=True):
        for place, part in enumerate(parts, 1):
            init.append((f"cocktail-part{place}", cocktail, _nth(ingredients, part)))
    drinks = {"c": cocktails, "i": ingredients}
    goals = []
    for goal in right:
        shot, drink = _pair(goal, ":")
        goals.append(("contains", shot, _nth(drinks.get(drink[:1], ()), drink[1:])))
    kinds = {
        "shot": shots,
        "shaker": ("shaker1",),
        "hand": hands,
        "ingredient": ingredients,
        "cocktail": cocktails,
        "dispenser": dispensers,
        "level": levels,
    }
    return _problem(kinds, init, goals)


def _tyreworld(body: str) -> Problem:
    left, right = _halves(body)
    count = _count("hubs", left[0])
    hubs, nuts = _numbered("the-hub", count), _numbered("nuts", count)
    old, new = _numbered("w", count), _numbered("r", count)
    tools = ("wrench", "jack", "pump")
    init: list[Fact] = [
        *(("in", thing, "boot") for thing in (*tools, *new)),
        ("unlocked", "boot"),
        ("isopen" if "open" in left[1:] else "closed", "boot"),
    ]
    for place, (hub, nut, wheel, spare) in enumerate(zip(hubs, nuts, old, new, strict=True), 1):
        init += [
            ("on-ground", hub),
            ("fastened", hub),
            ("on", wheel, hub),
            ("loose" if f"loose{place}" in left[1:] else "tight", nut, hub),
            ("intact", spare),
            ("inflated" if f"inflated{place}" in left[1:] else "not-inflated", spare),
        ]
    goals: list[Fact] = []
    for word in right:
        found = re.fullmatch(r"(on|inflated|stowed|changed)(\d+)", word)
        if found is None:
            raise ValueError(f"no goal {word}")
        spare = _nth(new, found[2])
        facts: dict[str, Fact] = {
            "on": ("on", spare, _nth(hubs, found[2])),
            "inflated": ("inflated", spare),
            "stowed": ("in", _nth(old, found[2]), "boot"),
        }
        goals += facts.values() if found[1] == "changed" else [facts[found[1]]]
    kinds = {
        "tool": tools,
        "hub": hubs,
        "nut": nuts,
        "container": ("boot",),
        "wheel": (*old, *new),
    }
    return _problem(kinds, init, goals)


MAKERS: dict[str, Callable[[str], Problem]] = {
    "gripper": _gripper,
    "blockworld": _blockworld,
    "barman": _barman,
    "tyreworld": _tyreworld,
}
"""The four domains in the order of the stream, each with the reader of its lines."""


def _problem(
    kinds: Mapping[str, Iterable[str]], init: Iterable[Fact], goals: Iterable[Fact]
) -> Problem:
    objects = {name: kind for kind, names in kinds.items() for name in names}
    problem = Problem(
        objects=dict(sorted(objects.items())), init=frozenset(init), goals=frozenset(goals)
    )
    strangers = {term for goal in problem.goals for term in goal[1:]} - objects.keys()
    if strangers or not problem.goals:
        raise ValueError(f"no goal over its objects: {' '.join(sorted(strangers))}")
    return problem


def _halves(body: str) -> tuple[list[str], list[str]]:
    left, right = _pair(body, "|")
    if not left.strip():
        raise ValueError("nothing before |")
    return left.split(), right.split()


def _pair(text: str, mark: str) -> tuple[str, str]:
    parts = text.split(mark)
    if len(parts) != 2:
        raise ValueError(f"want one {mark!r} in {text!r}")
    return parts[0], parts[1]


def _count(word: str, text: str) -> int:
    if not text.startswith(word):
        raise ValueError(f"want {word} and a number, not {text!r}")
    return int(text.removeprefix(word))


def _nth(names: tuple[str, ...], number: str) -> str:
    if not 1 <= int(number) <= len(names):
        raise ValueError(f"no number {number} among {len(names)}")
    return names[int(number) - 1]


def _numbered(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}{number}" for number in range(1, count + 1))
