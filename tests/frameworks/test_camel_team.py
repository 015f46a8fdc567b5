"""Teams of CAMEL under DiscernMem: real teams, scripted replies."""

from __future__ import annotations

from typing import Any

import pytest
from teams import Team, check_ownership

PLAYED = ["row", "playing", "specified", "steps", "structured", "search"]


@pytest.mark.parametrize("name", PLAYED)
def test_a_team_of_camel_leaves_a_log_that_verifies_and_replays_offline(
    camel: dict[str, Any], name: str
) -> None:
    assert camel[name]["problems"] == []
    assert camel[name]["replayed"]


@pytest.mark.parametrize("name", PLAYED)
def test_two_runs_of_a_team_of_camel_leave_the_same_events(
    camel: dict[str, Any], name: str
) -> None:
    assert camel[name]["same"]


def test_memory_reaches_its_owner_in_a_row_and_nobody_else(camel: dict[str, Any]) -> None:
    check_ownership(Team(camel["row"]), "planner", ("writer",))
    assert camel["row"]["scores"] == [0, 1, 1]


def test_memory_reaches_its_owner_in_a_role_playing_at_each_of_its_turns(
    camel: dict[str, Any],
) -> None:
    team = Team(camel["playing"])
    check_ownership(team, "writer", ("planner",))
    given = [prompt for prompt in team.prompts("writer") if "<notes>" in prompt]
    assert all(prompt.endswith("</notes>") for prompt in given)
    assert {"Instruction: look." in prompt for prompt in given} == {True, False}
    assert camel["playing"]["scores"] == [0, 1, 1]


def test_a_context_of_a_role_playing_begins_with_the_task(camel: dict[str, Any]) -> None:
    team = Team(camel["playing"])
    task = "Passage 1: In passage 1 the answer is right.\n\nQuestion: Which way?"
    assert team.contexts("writer")[0].startswith(task)
    assert team.contexts("writer")[0].endswith("Only reply with Instruction and Input.")
    assert "[user] Instruction: look. Input: None at all" in team.contexts("planner")[0]
    assert "Never forget" not in team.contexts("planner")[0]


def test_a_task_specifier_is_recorded_under_its_name_and_owns_no_memory(
    camel: dict[str, Any],
) -> None:
    team = Team(camel["specified"])
    assert team.callers[:3] == ["specifier", "writer", "planner"]
    assert team.contexts("specifier") == []
    assert "Say which way it is." in team.prompts("planner")[0]


def test_each_step_of_an_environment_is_a_pass_of_new_agents(camel: dict[str, Any]) -> None:
    team = Team(camel["steps"])
    assert team.callers == ["planner", "writer"] * 3
    assert [role for role, _ in camel["steps"]["contexts"]] == ["planner", "writer"]
    assert [len(call["messages"]) for call in camel["steps"]["calls"]] == [2] * 6
    assert "Valid actions" not in team.contexts("planner")[0]


def test_a_response_format_is_held_to_as_a_schema(camel: dict[str, Any]) -> None:
    schema = camel["structured"]["calls"][0]["schema"]
    assert schema["properties"]["answer"]["type"] == "string"
    assert [call["role"] for call in camel["structured"]["calls"]] == ["writer"] * 3


def test_a_searching_agent_is_asked_again_with_what_was_found(camel: dict[str, Any]) -> None:
    first, second, third = Team(camel["search"]).prompts("planner")[:3]
    assert "<search>rivers 0</search>\n\n<information>" in second
    assert third.endswith("No searches are left. Answer now from what was found.")
    assert second.startswith(first)


def test_an_endpoint_that_fails_amid_agents_is_no_score_and_resume_ends_the_run(
    camel: dict[str, Any],
) -> None:
    broken = camel["broken off"]
    assert broken["failures"] == [["Infrastructure", "the endpoint is down; start it"]] * 2
    assert broken["same"]
    assert broken["problems"] == []


@pytest.mark.parametrize("name", ["checked", "society checked"])
def test_check_team_passes_agents_that_replay(camel: dict[str, Any], name: str) -> None:
    assert camel[name]["ok"]
    assert all(each["requests"] for each in camel[name]["memory"])


def test_check_team_catches_the_clock_of_an_agent(camel: dict[str, Any]) -> None:
    assert not camel["clock"]["ok"]
    assert camel["clock"]["difference"]["what"] == "prompt"
    assert camel["clock"]["difference"]["role"] == "writer"


def test_check_team_tells_of_a_role_that_nobody_plays(camel: dict[str, Any]) -> None:
    planner, writer = camel["one plays both"]["memory"]
    assert (planner["requests"], writer["requests"]) == (2, 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("timed", "switch time-outs and threads of its agents off"),
        ("tool", "build its agent without"),
        ("silent", "ended before any of its roles spoke"),
    ],
)
def test_agents_that_cannot_be_played_are_refused_in_one_line(
    camel: dict[str, Any], name: str, words: str
) -> None:
    kind, message = camel[name]
    assert kind == "BadInput"
    assert words in message
    assert "\n" not in message
