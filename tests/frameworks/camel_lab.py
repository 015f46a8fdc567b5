"""Teams of CAMEL, as a script: ``camel_lab.py FOLDER`` prints what was seen of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from camel.agents import ChatAgent
from pydantic import BaseModel
from team_lab import Lab, report

from discernmem.frameworks.camel import (
    CamelHost,
    CamelSeats,
    Pass,
    agent_options,
    in_a_row,
    role_playing,
)

PAIR = ("planner", "writer")


class Reply(BaseModel):
    answer: str


def row(seats: CamelSeats) -> Pass:
    return in_a_row({role: seats.agent(role, f"You are {role}.") for role in PAIR})


def playing(seats: CamelSeats) -> Pass:
    return role_playing(seats, "planner", "writer", rounds=2)


def specified(seats: CamelSeats) -> Pass:
    return role_playing(
        seats,
        "planner",
        "writer",
        rounds=1,
        with_task_specify=True,
        task_specify_agent_kwargs={"model": seats.hidden("specifier")},
    )


def structured(seats: CamelSeats) -> Pass:
    writer = seats.agent("writer", "You are writer.")
    return lambda prompt: writer.step(prompt, response_format=Reply).msgs[0].content


def with_clock(seats: CamelSeats) -> Pass:
    return in_a_row({"writer": seats.agent("writer", f"You are writer. It is {time.time_ns()}.")})


def one_plays_both(seats: CamelSeats) -> Pass:
    said = seats.agent("planner", "You are planner.")
    other = ChatAgent(
        "You are writer.",
        **agent_options(seats.model("planner")),
    )
    return in_a_row({"planner": said, "writer": other})


def timed(seats: CamelSeats) -> Pass:
    return in_a_row({"writer": seats.agent("writer", "You are writer.", step_timeout=60)})


def with_tool(seats: CamelSeats) -> Pass:
    def look(word: str) -> str:
        """Look.

        Args:
            word (str): what for.
        """
        return word

    return in_a_row({"writer": seats.agent("writer", "You are writer.", tools=[look])})


def silent(_: CamelSeats) -> Pass:
    return lambda prompt: prompt


def helped(role: str, prompt: str) -> str:
    """Wrong without a memory: so memories prove useful and are kept."""
    if role == "planner":
        return "right" if "<notes>" in prompt else "unsure"
    return "right" if "[planner] right" in prompt else "wrong"


def solving(role: str, prompt: str) -> str:
    """Of a role playing, where the planner has the last word."""
    if role == "specifier":
        return "Say which way it is."
    if role == "writer":
        return "Instruction: look. Input: None" + ("" if "<notes>" in prompt else " at all")
    return "wrong" if "at all" in prompt else "right"


def seeking(role: str, prompt: str) -> str:
    if role == "writer":
        return "right"
    return f"<search>rivers {prompt.count('<information>')}</search>"


def moving(_: str, prompt: str) -> str:
    return "move rooma roomb" if prompt.count("> move") % 2 == 0 else "move roomb rooma"


def experiments(lab: Lab) -> Mapping[str, Any]:
    pair = CamelHost("pair", PAIR, row)
    writer = ("writer",)
    return {
        "row": lab.play("row", pair, helped, learns="planner"),
        "playing": lab.play(
            "playing", CamelHost("society", PAIR, playing), solving, learns="writer"
        ),
        "specified": lab.play(
            "specified", CamelHost("society", PAIR, specified, hidden=["specifier"]), solving
        ),
        "steps": lab.play("steps", pair, moving, benchmark={"name": "pddl", "steps": 3}),
        "structured": lab.play(
            "structured", CamelHost("one", writer, structured), lambda *_: '{"answer": "right"}'
        ),
        "search": lab.play(
            "search", CamelHost("pair", PAIR, row, searching=["planner"]), seeking, search=True
        ),
        "broken off": lab.break_off("broken", pair, helped, learns="planner"),
        "checked": lab.check(pair, helped),
        "society checked": lab.check(CamelHost("society", PAIR, playing), solving),
        "clock": lab.check(CamelHost("clock", writer, with_clock), helped),
        "one plays both": lab.check(CamelHost("one", PAIR, one_plays_both), helped),
        "timed": lab.refused(lambda: CamelHost("one", writer, timed)),
        "tool": lab.refused(lambda: CamelHost("one", writer, with_tool)),
        "silent": lab.refused(lambda: CamelHost("one", writer, silent)),
    }


if __name__ == "__main__":
    report(experiments)
