"""The store at any task is, byte for byte, what the run had then; what changed says it exactly."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lively import TASKS, LivelyModel, lively_world, record, rich_seed
from processes import story
from scripted import BagEmbedder

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog.sidefile import side_path
from discernmem.projections import changes, filling, state, timeline
from discernmem.projections.telling import counted
from discernmem.projections.timeline import Timeline
from discernmem.replayers import session, world
from discernmem.replayers.offline import replay_offline


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run recorded by the command, and the folder of its dumped states."""
    folder = tmp_path_factory.mktemp("recorded")
    stream = lively_world(folder, rich_seed(), tasks=TASKS).config.benchmark.options["source"]
    log, states = folder / "run.db", folder / "states"
    settings = ("theta=-1.0", "candidates=2", "rounds=2", "attempts=2", "k_inj=2")
    pairs = [f"method.{each}" for each in settings] + [f"benchmark.source={stream}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "open_model", lambda *_, **__: LivelyModel(rich_seed()))
        patch.setattr(world, "open_embedder", lambda _: BagEmbedder())
        sets = [part for pair in pairs for part in ("--set", pair)]
        main(["run", str(log), "--dump-states", str(states), *sets])
    return log, states


@pytest.fixture
def log(run: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the log alone."""
    return Path(shutil.copy(run[0], tmp_path / "run.db"))


def stored(log: Path, task: int, capfdbinary: pytest.CaptureFixture[bytes]) -> bytes:
    main(["store", str(log), "--at", str(task), "--json"])
    return capfdbinary.readouterr().out


def assert_equal_at_every_task(
    run: tuple[Path, Path], log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    capfdbinary.readouterr()
    for task in range(TASKS + 1):
        dumped = (run[1] / f"state-{task:05d}.json").read_bytes()
        assert stored(log, task, capfdbinary) == dumped, task


def test_the_states_dumped_by_the_run_are_all_different_or_the_store_did_not_change(
    run: tuple[Path, Path],
) -> None:
    dumps = [path.read_bytes() for path in sorted(run[1].iterdir())]
    assert len(dumps) == TASKS + 1
    assert json.loads(dumps[0])["memories"] == []
    assert len(set(dumps)) >= TASKS - 1


def test_without_a_side_file_the_store_is_what_the_run_had(
    run: tuple[Path, Path], log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert not side_path(log).exists()
    assert_equal_at_every_task(run, log, capfdbinary)
    assert side_path(log).exists()


def test_with_a_side_file_the_store_is_what_the_run_had(
    run: tuple[Path, Path],
    log: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(filling, "STORE_EVERY", 5)
    with EventLog.open(log) as opened, Timeline(opened) as found:
        found.catch_up()
    monkeypatch.setattr(filling.Filling, "add", None)
    assert_equal_at_every_task(run, log, capfdbinary)


def test_with_the_side_file_of_another_log_the_store_is_what_the_run_had(
    run: tuple[Path, Path],
    log: Path,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    other = record(tmp_path / "other", rich_seed() + 1, tasks=2)
    with EventLog.open(other) as opened, Timeline(opened) as found:
        found.catch_up()
    shutil.copy(side_path(other), side_path(log))
    assert_equal_at_every_task(run, log, capfdbinary)


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"x" * 4096])
def test_with_a_side_file_that_is_none_the_store_is_what_the_run_had(
    run: tuple[Path, Path],
    log: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    content: bytes,
) -> None:
    side_path(log).write_bytes(content)
    assert_equal_at_every_task(run, log, capfdbinary)


def test_a_run_brings_its_side_file_up_to_date_and_does_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "CATCH_UP_TASKS", 2)
    log = record(tmp_path, rich_seed(), name="with.db", tasks=5)
    (tmp_path / "without.store.db").mkdir()
    other = record(tmp_path, rich_seed(), name="without.db", tasks=5)
    with closing(sqlite3.connect(side_path(log))) as side, EventLog.open(log) as opened:
        reached = side.execute("select position from checkpoint").fetchone()
        assert reached == (opened.position_at_task(4),)
    assert story(other) == story(log)
    assert replay_offline(log).finished


# -- what changed ------------------------------------------------------------------------------


def told(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> Any:
    main([str(each) for each in arguments] + ["--json"])
    return json.loads(capfdbinary.readouterr().out)


def test_applying_the_changes_between_two_tasks_gives_the_later_store(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    capfdbinary.readouterr()
    with EventLog.open(log) as opened:
        for start in range(TASKS + 1):
            for end in range(start, TASKS + 1):
                listed = [
                    opened.at(change["position"])
                    for change in told(capfdbinary, "diff", log, "--from", start, "--to", end)
                ]
                before = timeline.state_at_task(opened, start)
                after = state.fold((r for r in listed if r is not None), before)
                later = timeline.state_at_task(opened, end)
                assert state.serialise(after) == state.serialise(later), (start, end)


def test_every_listed_change_changes_the_store(log: Path) -> None:
    with EventLog.open(log) as opened:
        found = changes.changes(opened, 0, opened.head().position)
        assert len(found) > 20
        current = state.State()
        for change in found:
            evolved = state.evolve(current, change.recorded)
            assert state.serialise(evolved) != state.serialise(current)
            current = evolved


def test_changes_in_words_are_the_changes_in_json(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    capfdbinary.readouterr()
    listed = told(capfdbinary, "diff", log, "--from", 1, "--to", TASKS)
    main(["diff", str(log), "--from", "1", "--to", str(TASKS)])
    text = capfdbinary.readouterr().out.decode()
    assert text.startswith(f"{counted(len(listed), 'change')} from task 1 to task {TASKS}\n")
    at = 0
    for change in listed:
        line = f"\ntask {change['task_index']}: {change['says']}  [{change['position']}]\n"
        at = text.index(line, at)
        for reason in change["because"]:
            assert f"because {reason['says']}  [{reason['position']}]\n" in text[at:]


def test_every_change_leads_back_to_a_reason(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    capfdbinary.readouterr()
    for change in told(capfdbinary, "diff", log, "--from", 0, "--to", TASKS):
        assert change["because"], change
