"""Replies become moves exactly when they name one that applies; nothing is guessed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.replayers.benchmarks.pddl import PddlBenchmark
from discernmem.replayers.benchmarks.pddl.actions import ActionReader, Check, Refusal
from discernmem.replayers.benchmarks.pddl.problems import read_table
from discernmem.replayers.benchmarks.pddl.strips import Game, Move, Problem, ground

BENCHMARK = PddlBenchmark("demo")
LINES = {
    "gripper": "a ab→bb",
    "blockworld": "b1/b2 b3 | b2>b3",
    "barman": "shots2 c1=1+2 | shot1:c1",
    "tyreworld": "hubs1 open | changed1",
}


def reader_of(name: str, problem: Problem | None = None) -> tuple[ActionReader, Game]:
    domain = BENCHMARK._domains[name]
    if problem is None:
        problem = read_table(f'{name} = "0 {LINES[name]}"', "test")[0].problem
    game = ground(domain, problem)
    return ActionReader(domain, problem, BENCHMARK._words[name], game), game


READERS = {name: reader_of(name) for name in LINES}


def reason(reply: str, name: str = "gripper") -> str:
    reader, game = READERS[name]
    read = reader.read(reply, game.initial)
    assert isinstance(read, Refusal), read
    return read.reason


@pytest.mark.parametrize(
    "reply",
    [
        "pick ball1 rooma left",
        "  Pick  BALL1\trooma left.\n",
        "pick up ball1 at rooma with left",
        "Pick up ball1 at rooma with left .",
        '{"action": "pick ball1 rooma left"}',
        ' {"action": "Pick up ball1 at rooma with left."}\n',
    ],
)
def test_short_form_sentence_and_json_name_the_same_move(reply: str) -> None:
    reader, game = READERS["gripper"]
    read = reader.read(reply, game.initial)
    assert isinstance(read, Move)
    assert read.text == "pick ball1 rooma left"


@pytest.mark.parametrize("name", LINES)
def test_every_move_of_every_domain_is_read_back_from_both_forms(name: str) -> None:
    """All facts are made true, so that each of the moves applies."""
    reader, game = READERS[name]
    everything = (1 << len(game.facts)) - 1
    assert game.applicable(everything) == list(game.moves)
    words = BENCHMARK._words[name]
    for move in game.moves:
        assert reader.read(move.text, everything) == move
        assert reader.read(words.move(move.name, move.arguments), everything) == move


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", "'' is not an action of this task"),
        ("grab ball1 rooma left", "'grab ball1 rooma left' is not an action of this task"),
        ("action: move rooma roomb", "'action: move rooma roomb' is not an action of this task"),
        ("pick ball1", "pick takes <ball> <room> <gripper>, not 1 arguments"),
        ("pick ball9 rooma left", "there is no object 'ball9'"),
        ("move rooma rooma", "move names an argument twice"),
        (
            "pick ball2 rooma left",
            "pick ball2 rooma left is not possible now, needs: ball2 is at rooma",
        ),
        (
            "drop rooma ball1 left",
            "drop rooma ball1 left is not possible now, needs: ball1 is a room, "
            "left carries rooma, rooma is a ball, the robot is at ball1",
        ),
        ("move rooma roomb!", "there is no object 'roomb!'"),
        ("move rooma roomb..", "there is no object 'roomb.'"),
        ("move rooma roomb\nmove roomb rooma", "move takes <from> <to>, not 5 arguments"),
        ("{", "the reply opens like JSON but is not a JSON object"),
        ('{"action": "move rooma roomb"} {}', "the reply opens like JSON but is not a JSON object"),
        ('{"move": "rooma roomb"}', 'a JSON reply must be {"action": "..."}'),
        ('{"action": ["move"]}', 'a JSON reply must be {"action": "..."}'),
        ('["move rooma roomb"]', "'[\"move rooma roomb\"]' is not an action of this task"),
        ("x" * 500, f"'{'x' * 60}...' is not an action of this task"),
    ],
)
def test_a_refusal_names_its_reason(reply: str, expected: str) -> None:
    assert reason(reply) == expected


def test_a_wrong_type_is_named_where_the_domain_has_types() -> None:
    assert reason("grasp shot1 left", "barman") == "shot1 is not a hand"
    assert reason("shake cocktail1 ingredient1 ingredient1 shaker1 left right", "barman") == (
        "shake names an argument twice"
    )


def test_a_check_is_matched_exactly() -> None:
    """An object may be called checkpoint, and an action on it is no check."""
    reader, game = READERS["blockworld"]
    for reply in (
        "check valid actions",
        "Check valid actions.",
        '{"action":"check valid actions"}',
    ):
        assert isinstance(reader.read(reply, game.initial), Check)
    for reply in ("check", "check valid actions please", "I check valid actions"):
        assert isinstance(reader.read(reply, game.initial), Refusal)
    problem = Problem(
        objects={"checkpoint-3": "object"},
        init=frozenset({("arm-empty",), ("clear", "checkpoint-3"), ("on-table", "checkpoint-3")}),
        goals=frozenset({("holding", "checkpoint-3")}),
    )
    reader, game = reader_of("blockworld", problem)
    read = reader.read("pickup checkpoint-3", game.initial)
    assert isinstance(read, Move)
    assert read.name == "pickup"


VOCABULARY = sorted(
    {
        word
        for name, (_, game) in READERS.items()
        for move in game.moves
        for text in (move.text, BENCHMARK._words[name].move(move.name, move.arguments))
        for word in text.split()
    }
    | {"check", "valid", "actions", "{", "}", '"', "action", ".", "\n"}
)
near_actions = st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join)
replies = st.one_of(
    st.text(st.characters()),
    near_actions,
    near_actions.map(lambda text: json.dumps({"action": text})),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["action", "a"]), inner, max_size=2)
        ),
    ).map(json.dumps),
)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(sorted(LINES)), replies=st.lists(replies, max_size=6), data=st.data())
def test_reading_never_raises_and_only_listed_moves_are_applied(
    name: str, replies: list[str], data: st.DataObject
) -> None:
    """Over reachable states: garbage is refused on one encodable line, moves were listed valid."""
    reader, game = READERS[name]
    state = game.initial
    for reply in replies:
        listed = game.applicable(state)
        read = reader.read(reply, state)
        if isinstance(read, Refusal):
            assert len(read.reason.encode("utf-8").splitlines()) == 1
        elif isinstance(read, Move):
            assert read in listed
        state = data.draw(st.sampled_from(listed)).after(state)


def test_deeply_nested_json_is_refused() -> None:
    assert reason('{"action":' * 100_000) == "the reply opens like JSON but is not a JSON object"
