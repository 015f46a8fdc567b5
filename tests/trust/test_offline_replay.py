"""Offline replay needs no model, and finds any record that was changed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from lively import GARBAGE, TASKS, record, rich_seed

from discernmem.cli import main
from discernmem.eventlog import Draft, EventLog, Recorded, plain
from discernmem.eventlog import events as ev
from discernmem.eventlog.events import DERIVED
from discernmem.replayers.offline import replay_offline

WITHOUT_MODELS = """
import socket, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"llama_cpp", "llguidance", "wordllama", "httpx"}:
            raise ImportError(f"{name} is refused")

def refuse(*args):
    raise OSError("no network")

sys.meta_path.insert(0, Refuse())
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from discernmem.cli import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), rich_seed())


def events(log: Path) -> list[Recorded]:
    with EventLog.open(log) as opened:
        return list(opened.read())


def first(log: Path, wanted: Callable[[Recorded], bool]) -> Recorded:
    return next(r for r in events(log) if wanted(r))


def usable(r: Recorded, purpose: str) -> bool:
    """Whether this is a reply for a decision, and not one that was asked again."""
    return getattr(r.event, "purpose", "") == purpose and r.event.text != GARBAGE  # type: ignore[attr-defined]


def tampered(log: Path, folder: Path, position: int, **fields: Any) -> Path:
    """A copy of the log in which a payload was changed behind its guards."""
    copy = folder / "tampered.db"
    shutil.copy(log, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("drop trigger events_no_update")
        ((payload,),) = connection.execute(
            "select payload from events where position = ?", (position,)
        )
        changed = {**json.loads(payload), **fields}
        connection.execute(
            "update events set payload = ? where position = ?", (json.dumps(changed), position)
        )
    connection.close()
    return copy


def replay(log: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status and standard error of an offline replay."""
    with pytest.raises(SystemExit) as stopped:
        main(["replay", "--offline", str(log)])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return int(stopped.value.code or 0), said.err


def test_a_recorded_run_is_derived_again_without_models_or_network(log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MODELS, "replay", "--offline", str(log), "--json"],
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert done.returncode == 0
    derived = sum(r.type in DERIVED for r in events(log))
    assert json.loads(done.stdout) == {"agreed": derived, "tasks": TASKS, "finished": True}


def test_a_replay_leaves_no_trace_beside_the_log(log: Path) -> None:
    before = {path.name: path.read_bytes() for path in log.parent.iterdir()}
    main(["replay", "--offline", str(log)])
    assert {path.name: path.read_bytes() for path in log.parent.iterdir()} == before


DECISIONS = (
    "extraction",
    "identity",
    "selection",
    "scope check",
    "content diagnosis",
    "generalisation",
    "repair",
)


@pytest.mark.parametrize("purpose", DECISIONS)
def test_a_changed_reply_is_found_at_the_first_conclusion_that_read_it(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], purpose: str
) -> None:
    reply = first(log, lambda r: usable(r, purpose))
    said = json.loads(reply.event.text)  # type: ignore[attr-defined]
    copy = tampered(log, tmp_path, reply.position, text=json.dumps(said | {"reason": "changed"}))
    concluded = first(log, lambda r: reply.event_id in getattr(r.event, "evidence", ()))

    status, line = replay(copy, capsys)

    assert status == 1
    found = re.fullmatch(
        r"discernmem: diverges at event (\d+) \((\w+) in \S+, task (\d+)\): "
        r"(\w+) recorded (.+), recomputed (.+)\n",
        line,
    )
    assert found is not None, line
    position, name, task, field, recorded, recomputed = found.groups()
    assert (int(position), name, int(task)) == (
        concluded.position,
        concluded.type,
        concluded.task_index,
    )
    assert json.loads(recorded) == plain(concluded.event)[field]
    assert json.loads(recomputed) != json.loads(recorded)


@pytest.mark.parametrize(
    ("purpose", "answer", "field", "recorded", "recomputed"),
    [
        ("extraction", "store", "store", True, False),
        ("scope check", "use", "use", True, False),
        ("content diagnosis", "defect", "defect", "wrong_order", "none"),
    ],
)
def test_a_changed_judgement_is_named_with_both_values(
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    purpose: str,
    answer: str,
    field: str,
    recorded: Any,
    recomputed: Any,
) -> None:
    def matters(r: Recorded) -> bool:
        return (
            getattr(r.event, "purpose", "") == purpose
            and f'"{answer}": {json.dumps(recorded)}' in r.event.text  # type: ignore[attr-defined]
        )

    def cited_as_recorded(reply: Recorded) -> bool:
        concluded = first(log, lambda r: reply.event_id in getattr(r.event, "evidence", ()))
        return bool(getattr(concluded.event, field) == recorded)

    reply = next(r for r in events(log) if matters(r) and cited_as_recorded(r))
    said = json.loads(reply.event.text)  # type: ignore[attr-defined]
    copy = tampered(log, tmp_path, reply.position, text=json.dumps(said | {answer: recomputed}))
    status, line = replay(copy, capsys)
    shown = "" if recomputed == "none" else recomputed
    assert status == 1
    assert f": {field} recorded {json.dumps(recorded)}, recomputed {json.dumps(shown)}\n" in line


def test_a_reply_made_unusable_asks_for_what_was_never_recorded(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = first(log, lambda r: getattr(r.event, "purpose", "") == "scope check")
    copy = tampered(log, tmp_path, reply.position, text=GARBAGE)
    status, line = replay(copy, capsys)
    assert status == 1
    assert re.search(r"needs a reply for scope check of \w+ \(request \w+\), not recorded", line)


def test_a_changed_turn_of_a_role_is_found_in_the_trajectory_that_cites_it(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = first(
        log, lambda r: getattr(r.event, "purpose", "") == "role" and (r.task_index or 0) > 2
    )
    copy = tampered(log, tmp_path, turn.position, text="something else")
    execution = first(log, lambda r: r.type == "ExecutionFinished" and r.position > turn.position)
    said = json.dumps(turn.event.text)  # type: ignore[attr-defined]

    status, line = replay(copy, capsys)

    assert status == 1
    assert f"diverges at event {execution.position} (ExecutionFinished in " in line
    assert re.search(
        rf": trajectory\.s\d+\.text recorded {re.escape(said)}, recomputed \"something else\"\n",
        line,
    )


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("TaskScored", "score", 0.25),
        ("StateChanged", "rule", "promotion"),
        ("EffectRecorded", "effect", 0.125),
        ("CandidateJudged", "accepted", None),
        ("StoreCheckpointed", "state_hash", "0" * 64),
    ],
)
def test_a_changed_conclusion_is_found_where_it_stands(
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    field: str,
    value: Any,
) -> None:
    event = [r for r in events(log) if r.type == kind][-1]
    was = plain(event.event)[field]
    value = (not was) if value is None else value
    if value == was:
        value = "revival"
    copy = tampered(log, tmp_path, event.position, **{field: value})
    status, line = replay(copy, capsys)
    assert status == 1
    assert f"diverges at event {event.position} ({kind} in " in line
    assert f": {field} recorded {json.dumps(value)}, recomputed {json.dumps(was)}\n" in line


def test_an_observation_that_is_gone_is_missed(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = first(log, lambda r: getattr(r.event, "purpose", "") == "extraction")
    copy = tmp_path / "cut.db"
    shutil.copy(log, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("drop trigger events_no_delete")
        connection.execute("delete from events where position = ?", (reply.position,))
    connection.close()
    status, line = replay(copy, capsys)
    assert status == 1
    assert ": observation recorded null, recomputed" in line
    assert "needs a reply for extraction of assistant" in line


def test_a_conclusion_after_the_end_of_the_run_is_found(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "longer.db"
    shutil.copy(log, copy)
    admitted = first(log, lambda r: r.type == "MemoryAdmitted").event
    assert isinstance(admitted, ev.MemoryAdmitted)
    end = events(log)[-1].position
    with EventLog.open(copy, write=True) as opened:
        forged = Draft(event=attrs.evolve(admitted, memory="m999"), actor="someone")
        opened.append([forged], expected=end)
    status, line = replay(copy, capsys)
    assert status == 1
    assert f"diverges at event {end + 1} (MemoryAdmitted in memory:m999)" in line
    assert line.endswith(': type recorded "MemoryAdmitted", recomputed null\n')


def test_a_log_cut_inside_a_task_agrees_as_far_as_it_goes(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cut.db"
    shutil.copy(log, copy)
    last = events(log)[-1].position - 40
    with sqlite3.connect(copy) as connection:
        for trigger in ("events_no_delete", "event_blobs_no_delete"):
            connection.execute(f"drop trigger {trigger}")
        connection.execute("delete from event_blobs where position > ?", (last,))
        connection.execute("delete from events where position > ?", (last,))
    connection.close()
    found = replay_offline(copy)
    assert not found.finished
    assert found.agreed == sum(r.type in DERIVED for r in events(copy))
