"""Teams of AutoGen, as a script: ``autogen_lab.py FOLDER`` prints what was seen of them."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
)
from pydantic import BaseModel
from team_lab import Lab, report

from discernmem.frameworks.autogen import AutoGenHost, AutoGenSeats

PAIR = ("planner", "writer")
PASSES = count()
SELECTOR = "You are selector. Choose from {participants}. {roles} Said so far: {history}"


class Reply(BaseModel):
    answer: str


def agent(seats: AutoGenSeats, role: str, **options: Any) -> AssistantAgent:
    told = options.pop("told", f"You are {role}.")
    return AssistantAgent(
        role,
        seats.client(role),
        system_message=told,
        memory=options.pop("memory", [seats.memory(role)]),
        **options,
    )


def round_robin(seats: AutoGenSeats) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([agent(seats, role) for role in PAIR], max_turns=4)


def selected(seats: AutoGenSeats) -> SelectorGroupChat:
    return SelectorGroupChat(
        [agent(seats, role, description=f"the {role}") for role in PAIR],
        seats.hidden("selector"),
        selector_prompt=SELECTOR,
        allow_repeated_speaker=True,
        max_turns=2,
    )


def graph(seats: AutoGenSeats) -> GraphFlow:
    planner, one, two, writer = (agent(seats, role) for role in ("planner", "one", "two", "writer"))
    builder = DiGraphBuilder()
    for node in (planner, one, two, writer):
        builder.add_node(node)
    builder.add_edge(planner, one).add_edge(planner, two)
    builder.add_edge(one, writer).add_edge(two, writer)
    flow = builder.build()
    return GraphFlow([planner, one, two, writer], graph=flow)


def structured(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "writer", output_content_type=Reply)


def streaming(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "writer", model_client_stream=True)


def with_clock(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "writer", told=f"You are writer. It is {time.time_ns()}.")


def with_chance(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "writer", told=f"You are writer. Your lucky number is {random.random()}.")


def with_state(seats: AutoGenSeats) -> RoundRobinGroupChat:
    agents = [agent(seats, role) for role in PAIR]
    if next(PASSES) % 2:
        agents.reverse()
    return RoundRobinGroupChat(agents, max_turns=2)


def leaking(seats: AutoGenSeats) -> RoundRobinGroupChat:
    both = [seats.memory(role) for role in PAIR]
    return RoundRobinGroupChat(
        [agent(seats, "planner"), agent(seats, "writer", memory=both)], max_turns=2
    )


def forgetful(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "writer", memory=None)


def with_tool(seats: AutoGenSeats) -> AssistantAgent:
    def look(word: str) -> str:
        """Look."""
        return word

    return agent(seats, "writer", tools=[look])


def stranger(seats: AutoGenSeats) -> AssistantAgent:
    return agent(seats, "stranger")


def ended(seats: AutoGenSeats) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [agent(seats, "writer")], termination_condition=TextMentionTermination("Question")
    )


def failing(_: AutoGenSeats) -> AssistantAgent:
    raise LookupError("no such agent")


def right(role: str, _: str) -> str:
    return f"{role} says right" if role == "planner" else "right"


def helped(role: str, prompt: str) -> str:
    """Wrong without a memory: so memories prove useful and are kept."""
    if role == "planner":
        return "right" if "<notes>" in prompt else "unsure"
    return "right" if "[planner] right" in prompt else "wrong"


def choosing(role: str, prompt: str) -> str:
    if role == "selector":
        return "planner" if "day" in prompt and "planner: right" not in prompt else "writer"
    return "right"


def seeking(role: str, prompt: str) -> str:
    if role == "writer":
        return "right"
    return f"<search>rivers {prompt.count('<information>')}</search>"


def thinking(role: str, _: str) -> str:
    return f"<think>As {role} I <search>doubt</search> it.</think>\n\nright"


def moving(_: str, prompt: str) -> str:
    return "move rooma roomb" if prompt.count("> move") % 2 == 0 else "move roomb rooma"


def experiments(lab: Lab) -> Mapping[str, Any]:
    pair = AutoGenHost("pair", PAIR, round_robin)
    writer = ("writer",)
    steps = {"name": "pddl", "steps": 3}
    namespace: dict[str, Any] = {}
    exec("def build(seats): return None", namespace)
    return {
        "round robin": lab.play("pair", pair, helped, learns="planner"),
        "selector": lab.play(
            "selector", AutoGenHost("chosen", PAIR, selected, hidden=["selector"]), choosing
        ),
        "graph": lab.play(
            "graph", AutoGenHost("graph", ("planner", "one", "two", "writer"), graph), right
        ),
        "steps": lab.play("steps", pair, moving, benchmark=steps),
        "structured": lab.play(
            "structured", AutoGenHost("one", writer, structured), lambda *_: '{"answer": "right"}'
        ),
        "streaming": lab.play("streaming", AutoGenHost("one", writer, streaming), right),
        "search": lab.play(
            "search",
            AutoGenHost("pair", PAIR, round_robin, searching=["planner"]),
            seeking,
            search=True,
        ),
        "thinking": lab.play(
            "thinking",
            AutoGenHost("pair", PAIR, round_robin, searching=["planner"]),
            thinking,
            search=True,
        ),
        "broken off": lab.break_off("broken", pair, helped, learns="planner"),
        "checked": lab.check(pair, helped),
        "clock": lab.check(AutoGenHost("clock", writer, with_clock), right),
        "chance": lab.check(AutoGenHost("chance", writer, with_chance), right),
        "state": lab.check(AutoGenHost("state", PAIR, with_state), right),
        "leaking": lab.check(AutoGenHost("leaking", PAIR, leaking), right),
        "forgetful": lab.refused(lambda: AutoGenHost("one", writer, forgetful)),
        "tool": lab.refused(lambda: AutoGenHost("one", writer, with_tool)),
        "stranger": lab.refused(lambda: AutoGenHost("one", writer, stranger)),
        "ended": lab.refused(lambda: AutoGenHost("one", writer, ended)),
        "failing": lab.refused(lambda: AutoGenHost("one", writer, failing)),
        "no file": lab.refused(lambda: AutoGenHost("one", writer, namespace["build"])),
        "twice": lab.refused(lambda: AutoGenHost("one", ("writer", "writer"), structured)),
        "held to actions": lab.refused(
            lambda: pair, benchmark={"name": "pddl", "steps": 3, "constrain_actions": True}
        ),
    }


if __name__ == "__main__":
    report(experiments)
