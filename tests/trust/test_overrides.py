"""A person's decisions: recorded between tasks, carried out by every replay, told by `why`."""

from __future__ import annotations

import getpass
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lively import lively_world, quick_folder, record, rich_seed
from processes import story

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.projections.timeline import Timeline
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run

STOP = 6


@pytest.fixture(scope="module")
def stopped() -> Iterator[Path]:
    """A rich run that was stopped after some tasks."""
    with quick_folder() as folder:
        log = folder / "run.db"
        start(log, lively_world(folder, rich_seed()), until=STOP)
        yield log


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def log(stopped: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(stopped, tmp_path / "run.db"))


def go_on(log: Path, stopped: Path, until: int | None = None) -> None:
    world = lively_world(stopped.parent, rich_seed())
    resume(log, open_=lambda _: world, until=until)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert exit_.value.code == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def memories(log: Path) -> dict[str, Any]:
    with EventLog.open(log) as opened, Timeline(opened) as timeline:
        store = json.loads(timeline.serialised(opened.head().position))
    return {memory["id"]: memory for memory in store["memories"]}


def first(log: Path, *states: str) -> str:
    return next(name for name, m in memories(log).items() if m["state"] in states)


def test_a_retired_memory_is_supplied_no_more_and_every_replay_agrees(
    log: Path, stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = first(log, "provisional", "active")
    told = said(capsys, "override", "retire", memory, str(log), "--reason", "it is nonsense")
    assert f"{memory}.v" in told
    assert f"retired by {getpass.getuser()}: “it is nonsense”" in told
    assert "→ inactive by rule 'override'" in told
    assert memories(log)[memory]["state"] == "inactive"

    go_on(log, stopped)

    with EventLog.open(log) as opened:
        supplied = [r for r in opened.read(types=["MemorySupplied"]) if (r.task_index or 0) > STOP]
        revived = [
            r.position
            for r in opened.read(stream=f"memory:{memory}", types=["StateChanged", "MemoryRevised"])
            if (r.task_index or 0) > STOP
        ]
    until = min(revived, default=10**9)
    assert supplied
    assert memory not in {r.event.memory for r in supplied if r.position < until}  # type: ignore[attr-defined]
    assert replay_offline(log).finished
    assert verify_run(log).problems == ()


def test_every_decision_is_carried_out_and_told(
    log: Path, stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = first(log, "provisional", "active")
    words = ["--by", "ada", "--json"]
    for arguments in (
        ["add-avoid", memory, str(log), "--text", "the moon is full", "--reason", "r1"],
        ["add-use", memory, str(log), "--text", "a cat asks", "--reason", "r2"],
        ["withdraw-condition", memory, str(log), "--text", "The moon is  FULL", "--reason", "r3"],
        ["edit", memory, str(log), "--text", "Ask the cat first.", "--reason", "r4"],
        ["retire", memory, str(log), "--reason", "r5"],
        ["revive", memory, str(log), "--reason", "r6"],
    ):
        assert json.loads(said(capsys, "override", *arguments, *words))
    now = memories(log)[memory]
    before = memories(stopped)[memory]
    assert now["state"] == "provisional"
    assert now["version"] == before["version"] + 1
    assert now["body"] == "Ask the cat first."
    assert [c["text"] for c in now["use_when"]][-1] == "a cat asks"
    assert now["use_when"][-1]["source"] == "override"
    assert now["avoid_when"] == before["avoid_when"]

    life = said(capsys, "why", memory, str(log))
    for reason in ("r1", "r2", "r3", "r4", "r5", "r6"):
        assert f"by ada: “{reason}”" in life
    assert "lost “the moon is full”" in life
    assert "and 6 overrides" in said(capsys, "store", str(log))
    assert "override" not in said(capsys, "store", str(log), "--at", str(STOP))

    go_on(log, stopped)
    assert replay_offline(log).finished
    assert verify_run(log).problems == ()


def test_a_decision_becomes_part_of_the_log_in_one_piece(log: Path) -> None:
    memory = first(log, "provisional", "active")
    main(["override", "retire", memory, str(log), "--reason", "r", "--by", "ada"])
    with EventLog.open(log) as opened:
        changed = opened.at(opened.head().position)
        assert changed is not None
        override = opened.by_id(changed.causation_id or "")
        assert override is not None
        assert override.recorded_at == changed.recorded_at
        assert isinstance(changed.event, ev.StateChanged)
        assert changed.event.evidence == (override.event_id,)
        assert override.task_index is changed.task_index is None


def test_a_decision_whose_consequences_were_lost_is_carried_out_by_the_next_resume(
    log: Path, stopped: Path, tmp_path: Path
) -> None:
    """Only a log written by hand can lack them; the journal makes them up all the same."""
    memory = first(log, "provisional", "active")
    whole = Path(shutil.copy(log, tmp_path / "whole.db"))
    main(["override", "retire", memory, str(whole), "--reason", "r", "--by", "ada"])
    with EventLog.open(whole) as opened, EventLog.open(log, write=True) as short:
        from discernmem.eventlog import Draft

        last = opened.at(opened.head().position - 1)
        assert last is not None
        short.append([Draft(event=last.event, actor=last.actor)])
    go_on(whole, stopped)
    go_on(log, stopped)
    assert story(log) == story(whole)


REFUSALS = [
    (["retire", "m99", "--reason", "r"], "has no memory 'm99' (m1 to m"),
    (["retire", "banana", "--reason", "r"], "has no memory 'banana'"),
    (["retire", "m1", "--reason", " "], "needs a reason and a name"),
    (["retire", "m1", "--reason", "r", "--by", ""], "needs a reason and a name"),
    (["retire", "m1"], "--reason"),
    (["banish", "m1", "--reason", "r"], "'banish' is not one of"),
    (["edit", "m1", "--reason", "r"], "edit needs a text"),
    (["retire", "m1", "--text", "x", "--reason", "r"], "--text: retire takes none"),
    (["edit", "m1", "--kind", "use", "--text", "x", "--reason", "r"], "--kind: edit takes none"),
    (["withdraw-condition", "m1", "--text", "x", "--reason", "r"], "m1 has no such condition"),
    (["retire", "m1", "--reason", "r", "--expect", "2"], "--expect 2: write v2"),
    (["retire", "m1", "--reason", "r", "--expect", "v9"], "m1 has no version 9; it has 1 to"),
    (["retire", "m1", "--reason", "r", "--expect", "v0"], "m1 has no version 0"),
    (["retire", "m1", "--reason", "r", "--expect", ""], "--expect : write v2"),
    (["retire", "m1", "--reason", "r", "--expect", f"v1@{10**20}"], f"has no event {10**20} that"),
    (["edit", "m1", "--reason", "r", "--text", "x" * 2001], "the text has 2001 characters, a pro"),
    (["add-use", "m1", "--reason", "r", "--text", "x " * 99999], "the text has 199998 characters"),
    (["retire", "m1", "--reason", "r" * 2001], "a reason and a name have at most 2000 characters"),
]


@pytest.mark.parametrize(("arguments", "says"), REFUSALS)
def test_a_refused_decision_is_one_line_and_changes_nothing(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    before = log.read_bytes()
    line = refused(capsys, "override", arguments[0], arguments[1], str(log), *arguments[2:])
    assert says in line
    assert log.read_bytes() == before


def test_words_that_are_no_text_are_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "override", "retire", "m1", str(log), "--reason", "\udce9", "--by", "a")
    assert "not UTF-8" in line


def test_a_memory_that_changed_since_the_person_looked_is_left_alone(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = first(log, "provisional", "active")
    with EventLog.open(log) as opened:
        seen = opened.head().position
    version = memories(log)[memory]["version"]
    expect = f"v{version}@{seen}"
    said(
        capsys, "override", "add-use", memory, str(log), "--text", "a", "--reason", "r",
        "--expect", expect,
    )  # fmt: skip
    line = refused(
        capsys, "override", "retire", memory, str(log), "--reason", "r", "--expect", expect
    )
    assert "changed since you looked: use when gained “a” (by override)" in line
    said(
        capsys, "override", "edit", memory, str(log), "--text", "Wait.", "--reason", "r",
        "--expect", f"v{version}",
    )  # fmt: skip
    line = refused(
        capsys, "override", "retire", memory, str(log), "--reason", "r", "--expect", f"v{version}"
    )
    assert f"is at version {version + 1} and changed since you looked: version" in line
    assert "committed: “Wait.”" in line


def test_inside_a_task_and_after_the_end_no_decision_is_taken(
    log: Path, stopped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = record(tmp_path, rich_seed(), name="whole.db")
    line = refused(capsys, "override", "retire", "m1", str(whole), "--reason", "r")
    assert "the run is over" in line

    with EventLog.open(whole) as opened:
        begun = opened.find(f"task:{STOP + 1}")
    assert begun is not None
    with EventLog.open(log, write=True) as opened:
        from discernmem.eventlog import Draft

        opened.append(
            [
                Draft(
                    event=ev.TaskStarted(
                        index=STOP + 1,
                        task=begun.event.task,  # type: ignore[attr-defined]
                        domain=begun.event.domain,  # type: ignore[attr-defined]
                        text=begun.event.text,  # type: ignore[attr-defined]
                    ),
                    task_index=STOP + 1,
                    actor="cycle",
                    blobs=(_text(whole, begun.event.text),),  # type: ignore[attr-defined]
                )
            ]
        )
    line = refused(capsys, "override", "retire", "m1", str(log), "--reason", "r")
    assert f"task {STOP + 1} is not completed" in line
    assert f"--until {STOP + 1}` ends it, then decide" in line
    go_on(log, stopped, until=STOP + 1)
    memory = first(log, "provisional", "active")
    said(capsys, "override", "retire", memory, str(log), "--reason", "r")


def _text(log: Path, sha256: str) -> bytes:
    with EventLog.open(log) as opened:
        return opened.blob(sha256)


def test_while_the_run_is_recorded_nobody_decides(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EventLog.open(log, write=True):
        line = refused(capsys, "override", "retire", "m1", str(log), "--reason", "r")
    assert "is writing it" in line
