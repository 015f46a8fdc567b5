"""The engine: who is asked what, in which order, with which memories, and who may search."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import pytest

from discernmem.replayers.benchmarks.base import Benchmark, Outcome, Passage, Task, View
from discernmem.replayers.hosts import open_host
from discernmem.replayers.hosts.base import Played, Spoken, Turn
from discernmem.replayers.hosts.files import parse_host
from discernmem.replayers.hosts.graph import NO_MORE, GraphHost
from discernmem.replayers.search.protocol import information

HOSTS = ("autogen", "camel", "macnet")
BLOCK = "<notes>\nRules\n</notes>"


@attrs.define
class Walk:
    """An environment of a few steps, each answered by the step's number."""

    steps: int
    taken: list[str] = attrs.field(factory=list)

    def view(self) -> View:
        return View(observation="You stand at a gate.", choices=("go", "stay"))

    def step(self, action: str) -> str:
        self.taken.append(action)
        return f"That was step {len(self.taken)}."

    @property
    def done(self) -> bool:
        return len(self.taken) == self.steps

    def outcome(self) -> Outcome:
        return Outcome(score=1.0, metrics={}, grading={"why": "walked"})


class Shelf:
    """A searcher that finds what it is asked for."""

    facts: Mapping[str, Any] = {"name": "shelf"}

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        return (Passage(title="Found", text=query),)[:k]


class Walking(Benchmark):
    name = "walking"
    facts: Mapping[str, Any] = {}

    def __init__(self, steps: int = 1, searcher: Shelf | None = None) -> None:
        self.steps = steps
        self.searcher = searcher

    def tasks(self) -> tuple[Task, ...]:
        return (Task(id="w1", domain="walks", text="Which way?\nWalk on.", data={}),)

    def environment(self, task: Task) -> Walk:  # noqa: ARG002
        return Walk(self.steps)


Say = Callable[[Turn], str]


@attrs.define
class Recorder:
    """A stage that answers by ``say``, and remembers what it was asked."""

    say: Say = lambda turn: f"{turn.role} says {turn.number}"
    blocks: Mapping[str, str] = attrs.field(factory=dict)
    turns: list[Turn] = attrs.field(factory=list)
    together: list[tuple[str, ...]] = attrs.field(factory=list)
    supplied: list[tuple[str, str]] = attrs.field(factory=list)
    searched: list[str] = attrs.field(factory=list)

    def supply(self, role: str, context: str) -> str:
        self.supplied.append((role, context))
        return self.blocks.get(role, "")

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        self.together.append(tuple(turn.role for turn in turns))
        self.turns += turns
        return [Spoken(self.say(turn), f"e{turn.role}{turn.number}") for turn in turns]

    def search(self, query: str) -> Spoken:
        self.searched.append(query)
        return Spoken(information([Passage(title="Found", text=query)]), f"p{len(self.searched)}")

    def prompts(self, role: str) -> list[str]:
        return [turn.messages[1].content for turn in self.turns if turn.role == role]


def play(name: str, stage: Recorder, benchmark: Walking) -> Played:
    return open_host(name).play(benchmark, benchmark.tasks()[0], stage)


def kinds(played: Played) -> list[tuple[str, str]]:
    return [(step.kind, step.role) for step in played.steps]


def test_roles_of_one_depth_are_asked_together_and_heard_by_the_next() -> None:
    stage = Recorder()
    play("macnet", stage, Walking())
    assert stage.together == [("actor_1", "actor_2"), ("critic_1", "critic_2"), ("summarizer",)]
    assert "[actor_1] actor_1 says 1" in stage.prompts("critic_1")[0]
    assert "actor_2" not in stage.prompts("critic_1")[0]
    for role in ("actor_1", "critic_1", "actor_2", "critic_2"):
        assert f"[{role}] {role} says 1" in stage.prompts("summarizer")[0]


@pytest.mark.parametrize(("name", "calls"), [("autogen", 2), ("camel", 4), ("macnet", 5)])
def test_each_step_costs_one_call_of_each_role(name: str, calls: int) -> None:
    stage = Recorder()
    played = play(name, stage, Walking(3, Shelf()))
    assert (played.model_calls, played.environment_steps) == (calls * 3, 3)
    assert [turn.number for turn in stage.turns if turn.role == stage.turns[0].role] == [1, 2, 3]


def test_the_last_reply_is_the_action_and_the_history_reaches_the_next_step() -> None:
    stage = Recorder()
    played = play("autogen", stage, Walking(2))
    assert kinds(played)[:4] == [
        ("message", "assistant"),
        ("message", "user_proxy"),
        ("action", "user_proxy"),
        ("observation", "environment"),
    ]
    assert "> user_proxy says 1\nThat was step 1." in stage.prompts("assistant")[1]
    assert [step.id for step in played.steps] == [f"s{n + 1}" for n in range(len(played.steps))]
    assert played.outcome.grading == {"why": "walked"}


def test_only_the_last_role_is_held_to_the_choices() -> None:
    stage = Recorder()
    play("camel", stage, Walking())
    held = {turn.role: turn.schema for turn in stage.turns}
    assert held.pop("summarizer")["properties"] == {"action": {"enum": ["go", "stay"]}}  # type: ignore[index]
    assert set(held.values()) == {None}


@pytest.mark.parametrize("name", HOSTS)
def test_memories_are_chosen_once_per_role_at_its_first_call(name: str) -> None:
    stage = Recorder()
    played = play(name, stage, Walking(3))
    assert [role for role, _ in stage.supplied] == list(open_host(name).roles)
    assert dict(stage.supplied) == dict(played.contexts)
    first = stage.supplied[0][1]
    assert first == "Which way?\nWalk on.\n\nYou stand at a gate."


def test_a_context_ends_with_what_the_role_hears_and_holds_no_memory() -> None:
    stage = Recorder(blocks={"actor": BLOCK, "critic": BLOCK})
    play("camel", stage, Walking())
    contexts = dict(stage.supplied)
    assert contexts["critic"].endswith("[actor] actor says 1")
    assert not any(BLOCK in context for context in contexts.values())


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("searcher", [None, Shelf()])
def test_two_arms_differ_by_exactly_the_memory_block(name: str, searcher: Shelf | None) -> None:
    """The byte test of a paired replay, for each role as the owner, over several steps."""
    for owner in open_host(name).roles:
        without, given = Recorder(), Recorder(blocks={owner: BLOCK})
        play(name, without, Walking(2, searcher))
        play(name, given, Walking(2, searcher))
        assert len(without.turns) == len(given.turns)
        for plain, turn in zip(without.turns, given.turns, strict=True):
            added = f"\n\n{BLOCK}" if turn.role == owner else ""
            assert turn.messages[0] == plain.messages[0]
            assert turn.messages[1].content == plain.messages[1].content + added
            assert (turn.role, turn.number, turn.schema) == (plain.role, plain.number, plain.schema)


def test_what_a_role_reasons_is_noted_but_neither_heard_nor_done_nor_searched() -> None:
    stage = Recorder(lambda turn: f"<think>Or <search>more</search>?</think>{turn.role} goes")
    played = play("autogen", stage, Walking(1, Shelf()))
    assert stage.searched == []
    assert stage.prompts("user_proxy")[0].endswith("[assistant] assistant goes")
    assert [step.text for step in played.steps if step.kind == "action"] == ["user_proxy goes"]
    assert played.steps[0].text.startswith("<think>")


# -- searching -----------------------------------------------------------------------------------


def always_search(turn: Turn) -> str:
    return f"<search>way {turn.number}</search> and so on"


BUDGET = [("autogen", 6, 4), ("camel", 12, 9), ("macnet", 13, 10)]
"""Calls and searches of one step in which everybody searches as often as allowed."""


@pytest.mark.parametrize(("name", "calls", "searches"), BUDGET)
def test_a_step_with_every_search_costs_no_more_than_the_reference(
    name: str, calls: int, searches: int
) -> None:
    stage = Recorder(always_search)
    played = play(name, stage, Walking(1, Shelf()))
    assert (played.model_calls, len(stage.searched)) == (calls, searches)
    assert kinds(played).count(("information", "search")) == searches


def test_a_search_is_answered_in_the_next_prompt_and_noted_after_its_message() -> None:
    stage = Recorder(lambda turn: "<search>the gate</search>" if turn.number == 1 else "North.")
    played = play("autogen", stage, Walking(1, Shelf()))
    again = stage.prompts("assistant")[1]
    assert again.startswith(stage.prompts("assistant")[0])
    assert again.endswith(
        '<search>the gate</search>\n\n<information>\n[1] "Found" the gate\n</information>'
    )
    assert kinds(played)[:3] == [
        ("message", "assistant"),
        ("information", "search"),
        ("message", "assistant"),
    ]
    assert played.steps[1].reply == "p1"
    assert "[assistant] North." in stage.prompts("user_proxy")[0]
    assert "<information>" not in stage.prompts("user_proxy")[0]


def test_after_the_last_search_the_role_is_told_so_and_its_reply_stands() -> None:
    stage = Recorder(always_search)
    play("autogen", stage, Walking(1, Shelf()))
    assert [NO_MORE in prompt for prompt in stage.prompts("assistant")] == [False] * 4 + [True]
    assert "[assistant] <search>way 5</search>" in stage.prompts("user_proxy")[0]


def test_a_critic_is_given_one_lookup_of_the_question_and_the_claim() -> None:
    stage = Recorder(lambda turn: "I think <answer>north</answer>." if turn.role == "actor" else "")
    played = play("camel", stage, Walking(1, Shelf()))
    assert stage.searched == ["Which way? north"]
    assert '<information>\n[1] "Found" Which way? north' in stage.prompts("critic")[0]
    assert kinds(played).index(("information", "search")) < kinds(played).index(
        ("message", "critic")
    )


def test_nobody_searches_where_there_is_nothing_to_search() -> None:
    stage = Recorder(always_search)
    played = play("macnet", stage, Walking(1))
    assert (played.model_calls, stage.searched) == (5, [])


def test_a_host_says_who_searches_only_where_there_is_a_search() -> None:
    host = open_host("camel")
    assert "search" not in host.facts(Walking())
    searching = host.facts(Walking(1, Shelf()))["search"]
    assert searching == {"user_proxy": "asks", "actor": "asks", "critic": "once"}


def test_actors_are_marked_where_a_host_has_them() -> None:
    stage = Recorder()
    play("macnet", stage, Walking())
    assert [turn.role for turn in stage.turns if turn.actor] == ["actor_1", "actor_2"]
    assert open_host("macnet").facts(Walking())["actors"] == ["actor_1", "actor_2"]


def test_a_mesh_of_one_node_is_a_node_and_its_summarizer() -> None:
    told = {"default": {"node": "Work.", "summarizer": "Sum up."}}
    table = {"name": "m", "shape": {"kind": "mesh", "nodes": 1}, "instructions": told}
    host = parse_host(table, "m")
    assert isinstance(host, GraphHost)
    stage = Recorder()
    host.play(Walking(), Walking().tasks()[0], stage)
    assert stage.together == [("node_1",), ("summarizer",)]
