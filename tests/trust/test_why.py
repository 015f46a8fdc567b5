"""`why` tells the whole life of a memory, the same in words as in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lively import record, rich_seed

from discernmem.cli import main
from discernmem.eventlog import EventLog, Recorded


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), rich_seed())


@pytest.fixture(scope="module")
def memories(log: Path) -> dict[str, list[Recorded]]:
    """Each memory with the events of its stream."""
    found: dict[str, list[Recorded]] = {}
    with EventLog.open(log) as opened:
        for recorded in opened.read():
            if recorded.stream_id.startswith("memory:"):
                found.setdefault(recorded.stream_id.removeprefix("memory:"), []).append(recorded)
    return found


def in_words(log: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["why", arguments[0], str(log), *arguments[1:]])
    return capsys.readouterr().out


def in_json(log: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(in_words(log, capsys, *arguments, "--json"))


def nodes(life: Any) -> Iterator[Any]:
    for node in life:
        yield node
        yield from nodes(node["caused"])


def sentence(node: Any) -> str:
    """What the tree says of an event; rules and scores stand below it."""
    says: str = node["says"]
    match node["type"]:
        case "CandidateProposed":
            return says.removesuffix(f" → “{node['event']['body']}”")
        case "MemoryRevised":
            return says.removesuffix(f": “{node['event']['body']}”")
        case "CandidateJudged":
            return says.rpartition(" — ")[0]
        case _:
            return says


def test_every_event_of_a_life_is_told_once_in_words_and_once_in_json(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(memories) >= 3
    for name, events in memories.items():
        positions = [r.position for r in events]
        told = list(nodes(in_json(log, capsys, name)["life"]))
        assert sorted(node["position"] for node in told) == positions
        text = in_words(log, capsys, name)
        for node in told:
            line = rf"─ {re.escape(sentence(node))}  \[{node['position']}\]\n"
            assert len(re.findall(line, text)) == 1, node


def test_what_a_model_said_and_what_an_event_rests_on_is_in_both(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in memories:
        text = " ".join(in_words(log, capsys, name).split())
        for node in nodes(in_json(log, capsys, name)["life"]):
            for words in node["model_said"]:
                assert " ".join(words.split()) in text, node["position"]
            for position in node["evidence"]:
                assert f"[{position}]" in text, node["position"]
            for reason in node.get("led_to_by", ()):
                assert f"[{reason['position']}]" in text or reason["type"] == "TaskStarted"


def test_every_condition_names_the_event_that_added_it(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    sources = set()
    for name in memories:
        told = in_json(log, capsys, name)
        text = in_words(log, capsys, name)
        by_id = {node["event_id"]: node for node in nodes(told["life"])}
        for kind, words in (("use_when", "use when"), ("avoid_when", "avoid when")):
            for condition in told["memory"][kind]:
                added = by_id[condition["added_by"]]
                event = added["event"]
                assert condition["text"] in event.get(kind, event.get("text"))
                line = f"{words}: {condition['text']}  (by {condition['source']}) "
                assert f"{line}[{added['position']}]\n" in text
                sources.add(condition["source"])
    assert sources == {"extraction", "generalisation", "scope check"}


def test_every_candidate_shows_the_task_that_rejected_it(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    rejected = 0
    for name, events in memories.items():
        by_position = {n["position"]: n for n in nodes(in_json(log, capsys, name)["life"])}
        text = in_words(log, capsys, name)
        for recorded in events:
            if recorded.type == "CandidateProposed" and recorded.event.problem:  # type: ignore[attr-defined]
                assert f"rejected at once, {recorded.event.problem}  [{recorded.position}]" in text  # type: ignore[attr-defined]
            if recorded.type == "CandidateJudged" and not recorded.event.accepted:  # type: ignore[attr-defined]
                task = recorded.event.rejected_by  # type: ignore[attr-defined]
                assert by_position[recorded.position]["event"]["rejected_by"] == task
                assert re.search(rf"─ rejected by {task}: .*\[{recorded.position}\]\n", text)
                rejected += 1
    assert rejected > 2


def test_one_version_is_told_without_the_others(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    revised = next(
        name for name, es in memories.items() if any(e.type == "MemoryRevised" for e in es)
    )
    for version in (1, 2):
        expected = [
            r.position for r in memories[revised] if getattr(r.event, "version", 1) == version
        ]
        told = in_json(log, capsys, revised, "--version", str(version))
        assert sorted(node["position"] for node in nodes(told["life"])) == expected
        text = in_words(log, capsys, revised, "--version", str(version))
        told_lines = re.findall(r"[├└]─ .*\[(\d+)\]\n", text)
        assert set(map(int, told_lines)) == set(expected)


def test_a_life_starts_from_the_task_and_the_run_that_led_to_it(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in memories:
        first = in_json(log, capsys, name)["life"][0]
        assert first["type"] == "MemoryAdmitted"
        assert first["led_to_by"][0]["type"] == "TaskStarted"
        assert "TaskScored" in [reason["type"] for reason in first["led_to_by"]]


def test_all_that_led_to_a_root_is_told_up_to_its_task(
    log: Path, memories: dict[str, list[Recorded]], capsys: pytest.CaptureFixture[str]
) -> None:
    with EventLog.open(log) as opened:
        recorded = {each.event_id: each for each in opened.read()}
    for name in memories:
        life = in_json(log, capsys, name)["life"]
        text = in_words(log, capsys, name)
        heads = re.findall(r"^task (\d+)(.*)$", text, re.M)
        assert {int(index) for index, _ in heads} == {root["task_index"] for root in life}
        assert all(re.fullmatch(r" \S+", task) for _, task in heads)
        for root in life:
            chain, cause = [], recorded[root["event_id"]].causation_id
            while cause is not None:
                chain.append(recorded[cause].position)
                cause = recorded[cause].causation_id
            assert [each["position"] for each in root["led_to_by"]] == chain[::-1]
