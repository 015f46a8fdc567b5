"""Teams of AutoGen under DiscernMem: real teams, scripted replies."""

from __future__ import annotations

from typing import Any

import pytest
from teams import Team, check_ownership

PLAYED = [
    "round robin",
    "selector",
    "graph",
    "steps",
    "structured",
    "streaming",
    "search",
    "thinking",
]
TASK = "Passage 1: In passage 1 the answer is right.\n\nQuestion: Which way?\nGive a short answer, "
TASK += "without explanation."


@pytest.mark.parametrize("name", PLAYED)
def test_a_team_leaves_a_log_that_verifies_and_replays_offline(
    autogen: dict[str, Any], name: str
) -> None:
    assert autogen[name]["problems"] == []
    assert autogen[name]["replayed"]


@pytest.mark.parametrize("name", PLAYED)
def test_two_runs_of_a_team_leave_the_same_events(autogen: dict[str, Any], name: str) -> None:
    assert autogen[name]["same"]


def test_memory_reaches_its_owner_once_per_context_and_nobody_else(autogen: dict[str, Any]) -> None:
    team = Team(autogen["round robin"])
    check_ownership(team, "planner", ("writer",))
    again = [p for p in team.prompts("planner") if "<notes>" in p and not p.endswith("</notes>")]
    assert again, "no second turn of the planner was seen with its memory"


def test_memories_of_a_team_can_raise_its_scores(autogen: dict[str, Any]) -> None:
    assert autogen["round robin"]["scores"] == [0, 1, 1]
    assert autogen["round robin"]["supplied"] == [["planner", "q2"], ["planner", "q3"]]


def test_a_context_is_the_task_and_what_colleagues_said(autogen: dict[str, Any]) -> None:
    team = Team(autogen["round robin"])
    assert team.contexts("planner")[0] == TASK
    assert team.contexts("writer")[0] == f"{TASK}\n\n[planner] unsure"


def test_calls_of_a_selector_are_recorded_under_its_name_and_own_no_memory(
    autogen: dict[str, Any],
) -> None:
    team = Team(autogen["selector"])
    assert team.callers.count("selector") == 6
    assert team.contexts("selector") == []
    assert autogen["selector"]["host"]["hidden"] == ["selector"]


def test_a_role_that_the_selector_passes_over_is_not_observed(autogen: dict[str, Any]) -> None:
    assert [role for role, _ in autogen["selector"]["contexts"]] == [
        "writer",
        "planner",
        "writer",
        "writer",
    ]


def test_nodes_of_a_graph_speak_in_its_order(autogen: dict[str, Any]) -> None:
    team = Team(autogen["graph"])
    assert team.callers[:4] == ["planner", "one", "two", "writer"]
    assert "[one] right\n\n[two] right" in team.prompts("writer")[0]


def test_each_step_of_an_environment_is_a_pass_and_a_context_holds_no_aids(
    autogen: dict[str, Any],
) -> None:
    team = Team(autogen["steps"])
    assert team.callers == ["planner", "writer"] * 6
    assert [role for role, _ in autogen["steps"]["contexts"]] == ["planner", "writer"]
    assert "Valid actions" in team.prompts("planner")[0]
    assert "Valid actions" not in team.contexts("planner")[0]
    assert "> move rooma roomb" not in team.prompts("planner")[0]
    assert "> move rooma roomb" in team.prompts("planner")[2]


def test_structured_output_is_held_to_its_schema(autogen: dict[str, Any]) -> None:
    (step,) = [s for s in autogen["structured"]["steps"][0] if s["kind"] == "action"]
    schema = autogen["structured"]["calls"][0]["schema"]
    assert schema["properties"]["answer"]["type"] == "string"
    assert step["text"] == '{"answer":"right"}'


def test_a_searching_role_is_asked_again_with_what_was_found(autogen: dict[str, Any]) -> None:
    team = Team(autogen["search"])
    first, second, third, fourth = team.prompts("planner")[:4]
    assert "<information>" not in first
    assert second.startswith(first)
    assert "<search>rivers 0</search>\n\n<information>" in second
    assert third.endswith("No searches are left. Answer now from what was found.")
    assert "[1]" not in fourth
    kinds = [step["kind"] for step in autogen["search"]["steps"][0]]
    assert kinds[:5] == ["message", "information", "message", "information", "message"]


def test_what_a_role_reasons_is_kept_from_its_team_and_asks_for_nothing(
    autogen: dict[str, Any],
) -> None:
    team = Team(autogen["thinking"])
    assert not [
        prompt
        for role in ("planner", "writer")
        for prompt in team.prompts(role)
        if "doubt" in prompt
    ]
    assert autogen["thinking"]["searches"] == []
    steps = autogen["thinking"]["steps"][0]
    assert "doubt" in steps[0]["text"]
    assert [step["text"] for step in steps if step["kind"] == "action"] == ["right"]


def test_an_endpoint_that_fails_amid_a_team_is_no_score_and_resume_ends_the_run(
    autogen: dict[str, Any],
) -> None:
    broken = autogen["broken off"]
    assert len(broken["failures"]) > 2
    assert all(
        failure == ["Infrastructure", "the endpoint is down; start it"]
        for failure in broken["failures"]
    )
    assert broken["same"]
    assert broken["problems"] == []


def test_check_team_passes_a_team_that_replays(autogen: dict[str, Any]) -> None:
    assert autogen["checked"]["ok"]
    assert [(each["role"], each["requests"]) for each in autogen["checked"]["memory"]] == [
        ("planner", 2),
        ("writer", 2),
    ]


def test_check_team_catches_a_clock_and_chance_by_the_prompt(autogen: dict[str, Any]) -> None:
    for name, words in (("clock", "It is 1"), ("chance", "lucky number is 0.")):
        difference = autogen[name]["difference"]
        assert not autogen[name]["ok"]
        assert (difference["task"], difference["request"], difference["role"]) == (
            "q1",
            1,
            "writer",
        )
        assert difference["what"] == "prompt"
        assert words in difference["first"]
        assert words in difference["second"]


def test_check_team_catches_kept_state_by_the_course(autogen: dict[str, Any]) -> None:
    difference = autogen["state"]["difference"]
    assert (difference["what"], difference["request"]) == ("course", 1)
    assert (difference["first"], difference["second"]) == (
        "context of planner",
        "context of writer",
    )


def test_check_team_catches_a_memory_that_another_reads(autogen: dict[str, Any]) -> None:
    assert not autogen["leaking"]["ok"]
    planner, writer = autogen["leaking"]["memory"]
    assert planner["problems"] == ["reached request 2 of writer"]
    assert writer["problems"] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("forgetful", "give its agent memory=[seats.memory('writer')]"),
        ("tool", "does not support function calling"),
        ("stranger", "'stranger' is not among its roles (writer)"),
        ("ended", "ended before any of its roles spoke"),
        ("failing", "LookupError: no such agent"),
        ("no file", "define a function in a .py file"),
        ("twice", "each name only once"),
        ("held to actions", "switch the benchmark's constrain_actions off"),
    ],
)
def test_a_team_that_cannot_be_played_is_refused_in_one_line(
    autogen: dict[str, Any], name: str, words: str
) -> None:
    kind, message = autogen[name]
    assert kind == "BadInput"
    assert words in message
    assert "\n" not in message


def test_a_header_says_by_which_framework_and_whose_code_a_team_is_built(
    autogen: dict[str, Any],
) -> None:
    host = autogen["round robin"]["host"]
    assert host["framework"].startswith("autogen-agentchat 0.")
    assert host["builder"] == "round_robin"
    assert len(host["source"]) == 64
    assert host["roles"] == [["planner", []], ["writer", []]]
