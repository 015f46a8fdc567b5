"""Teams from files: what a table becomes, and what is refused in one line."""

from pathlib import Path
from typing import Any

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Benchmark
from discernmem.replayers.hosts import open_host, require_facts, shipped_hosts
from discernmem.replayers.hosts.files import parse_host
from discernmem.replayers.hosts.graph import GraphHost


def table(**changes: Any) -> dict[str, Any]:
    """A pair of roles; a value of None takes the key away."""
    plain = {
        "name": "pair",
        "roles": [{"name": "coder"}, {"name": "reviewer", "hears": ["coder"]}],
        "instructions": {"default": {"coder": "Write.", "reviewer": "Review."}},
    }
    merged = {**plain, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def shaped(**shape: Any) -> dict[str, Any]:
    told = {"default": {"node": "Work.", "summarizer": "Sum up."}}
    return table(roles=None, shape={"kind": "chain", "nodes": 3, **shape}, instructions=told)


def roles(*entries: dict[str, Any]) -> dict[str, Any]:
    told = {entry["name"]: "Work." for entry in entries if "name" in entry}
    return table(roles=list(entries), instructions={"default": told})


PAPER = {
    "autogen": [["assistant", []], ["user_proxy", ["assistant"]]],
    "camel": [
        ["user_proxy", []],
        ["actor", ["user_proxy"]],
        ["critic", ["actor"]],
        ["summarizer", ["actor", "critic"]],
    ],
    "macnet": [
        ["actor_1", []],
        ["actor_2", []],
        ["critic_1", ["actor_1"]],
        ["critic_2", ["actor_2"]],
        ["summarizer", ["actor_1", "critic_1", "actor_2", "critic_2"]],
    ],
}


def test_the_hosts_of_the_paper_ship() -> None:
    assert shipped_hosts() == tuple(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_a_host_of_the_paper_hears_as_the_paper_says(name: str) -> None:
    facts = open_host(name).facts(open_benchmark("reading", {}))
    assert facts["roles"] == PAPER[name]


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("protocol", ["reading", "pddl", "kodcode", "qa", "default"])
def test_a_host_of_the_paper_says_something_to_each_role_of_each_benchmark(
    name: str, protocol: str
) -> None:
    host = open_host(name)
    assert isinstance(host, GraphHost)
    told = host.instructions[protocol]
    assert all(told.get(role.name) or told[role.plays] for role in host.members)


def test_roles_speak_after_those_they_hear_whatever_the_order_of_the_file() -> None:
    host = parse_host(roles({"name": "z", "hears": ["a", "b"]}, {"name": "b"}, {"name": "a"}), "t")
    assert host.roles == ("b", "a", "z")
    assert [len(generation) for generation in host.generations] == [2, 1]


def test_a_shape_becomes_numbered_roles_and_a_summarizer_that_hears_the_sinks() -> None:
    host = parse_host(shaped(kind="tree", nodes=4), "t")
    assert {role.name: role.hears for role in host.members} == {
        "node_1": (),
        "node_2": ("node_1",),
        "node_3": ("node_1",),
        "node_4": ("node_2",),
        "summarizer": ("node_3", "node_4"),
    }
    assert host.last == "summarizer"


def test_a_reversed_star_makes_its_last_node_hear_the_others() -> None:
    host = parse_host(shaped(kind="star", nodes=4, reverse=True), "t")
    assert {role.name: role.hears for role in host.members}["node_4"] == (
        "node_1",
        "node_2",
        "node_3",
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    (table(nmae="x"), "unknown key 'nmae'"),
    (table(name=None), "name is None"),
    (table(roles=None), "either [[roles]] or a [shape]"),
    (table(shape={"kind": "chain", "nodes": 2}), "either [[roles]] or a [shape]"),
    (table(roles=[]), "has no role"),
    (table(roles={"name": "x"}), "has no role"),
    (table(roles=[{"nme": "x"}]), "unknown key 'nme'"),
    (roles({"name": "a"}, {"name": "a"}), "another role's name"),
    (roles({"name": "a", "hears": ["b"]}), "hears 'b', which is no role"),
    (roles({"name": "a", "hears": "b"}), "give a list of texts"),
    (roles({"name": "a\nb"}), r"role 1: name is 'a\nb'; give a name on one line"),
    (table(name="pa\u2028ir"), "give a name on one line"),
    (roles({"name": "a"}, {"name": "b", "hears": ["a", "a"]}), "hears 'a' twice"),
    (roles({"name": "a", "hears": ["a"]}), "in a circle (a -> a)"),
    (roles({"name": "a", "hears": ["b"]}, {"name": "b", "hears": ["a"]}), "in a circle"),
    (roles({"name": "a"}, {"name": "b"}), "heard by none; these are: a, b"),
    (roles({"name": "a", "search": "asks"}), "speaks last and may not search"),
    (roles({"name": "a", "search": "often"}), "search is 'often'"),
    (roles({"name": "a", "actor": 1}), "give true or false"),
    (table(instructions=None), "has no instructions"),
    (table(instructions={"pddl": {"coder": "x"}}), "says nothing to 'reviewer'"),
    (table(instructions={"pddl": {"coder": "x", "reviewer": " "}}), "give a text"),
    (
        table(instructions={"pddl": {"coder": "x", "reviewer": "y", "boss": "z"}}),
        "'boss' is no role",
    ),
    (table(instructions={"pddl": "x"}), "must be a table of texts"),
    (shaped(kind="ring"), "kind 'ring' is unknown"),
    (shaped(kind=["star"]), "kind ['star'] is unknown"),
    (shaped(nodes=0), "nodes is 0"),
    (shaped(nodes=True), "nodes is True"),
    (shaped(seed=-1), "seed is -1"),
    (shaped(reverse="yes"), "give true or false"),
    (shaped(size=3), "unknown key 'size'"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_table_that_is_no_team_is_refused_in_one_line(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parse_host(wrong, "mine.toml")
    message = str(refusal.value)
    assert words in message
    assert message.startswith("host mine.toml")
    assert "\n" not in message


def test_a_team_of_ones_own_is_opened_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(
        'name = "pair"\n[[roles]]\nname = "coder"\n[[roles]]\nname = "reviewer"\n'
        'hears = ["coder"]\n[instructions.default]\ncoder = "Write."\nreviewer = "Review."\n'
    )
    host = open_host(str(path))
    assert (host.name, host.roles) == ("pair", ("coder", "reviewer"))
    assert host.facts(open_benchmark("pddl", {"problems": "demo"}))["instructions"] == {
        "coder": "Write.",
        "reviewer": "Review.",
    }


def test_a_team_of_ones_own_may_be_an_object_or_what_makes_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from discernmem.replayers.hosts import open_host\n"
        "made = open_host('camel')\n"
        "def make():\n    return made\n"
        "nothing = 7\n"
        "def failing():\n    raise RuntimeError('no model')\n"
        "def asking(seats):\n    return made\n"
    )
    assert open_host(f"{path}:made").name == "camel"
    assert open_host(f"{path}:make").name == "camel"
    with pytest.raises(BadInput, match="int is no host"):
        open_host(f"{path}:nothing")
    with pytest.raises(BadInput, match=r"cannot be made \(RuntimeError: no model\)"):
        open_host(f"{path}:failing")
    with pytest.raises(BadInput, match=r"cannot be made \(TypeError: "):
        open_host(f"{path}:asking")
    with pytest.raises(BadInput, match="cannot be imported"):
        open_host(f"{path}:absent")


FACTS: list[tuple[Any, str]] = [
    ({"name": "pair"}, r"facts are not usable \(KeyError: 'roles'\)"),
    ({"name": "pair", "roles": ["coder"]}, "facts are not usable"),
    ({"name": "pair", "roles": [["coder", []]], "tools": {1}}, r"\$.tools: set is not JSON"),
    ({"name": "pair", "roles": [["coder", []]]}, "are coder, reviewer, its facts say coder"),
    ({"name": "pair", "roles": []}, "are coder, reviewer, its facts say none"),
]


@pytest.mark.parametrize(("facts", "words"), FACTS)
def test_facts_that_no_header_can_hold_or_no_reader_understands_are_refused(
    facts: Any, words: str
) -> None:
    class Own(GraphHost):
        def facts(self, benchmark: Benchmark) -> Any:  # noqa: ARG002
            return facts

    plain = parse_host(table(), "t")
    host = Own(name="pair", generations=plain.generations, instructions=plain.instructions)
    with pytest.raises(BadInput, match=words):
        require_facts(host, open_benchmark("reading", {}))


BAD = ["nobody", "absent.toml", "absent.py:x", "absent_module_x:y"]


@pytest.mark.parametrize("spec", BAD)
def test_a_host_that_is_not_there_is_refused_with_what_would_do(spec: str) -> None:
    with pytest.raises(BadInput, match=r"known|use one of|name a"):
        open_host(spec)


def test_a_file_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("name = ")
    with pytest.raises(BadInput, match="is not TOML"):
        open_host(str(path))


def test_a_host_without_instructions_for_a_benchmark_says_what_to_add() -> None:
    host = parse_host(table(instructions={"qa": {"coder": "x", "reviewer": "y"}}), "t")
    with pytest.raises(BadInput, match=r"add \[instructions.reading\]"):
        host.facts(open_benchmark("reading", {}))
