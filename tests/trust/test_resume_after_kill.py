"""A run that is killed at any moment and resumed leaves the log of one that was not."""

from __future__ import annotations

import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from lively import lively_world, record, rich_seed
from processes import go_on, in_process, story

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import BadInput
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import holds_run, resume, start
from discernmem.replayers.verification import verify_run

KILLS = 20
SEED = 8


def position(log: Path) -> int:
    if not log.exists():
        return -1
    with EventLog.open(log) as opened:
        return opened.head().position


def kill_when(process: ForkServerProcess, log: Path, at: int) -> int:
    """Kill -9 once the log has reached a position; returns where it was left."""
    try:
        while position(log) < at and process.is_alive():
            time.sleep(0.001)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL, "it ended by itself before it could be killed"
    return position(log)


def test_twenty_kills_leave_the_log_of_an_undisturbed_run(tmp_path: Path) -> None:
    seed = rich_seed()
    undisturbed = record(tmp_path, seed, name="calm.db")
    length = position(undisturbed)
    assert length > 300
    # None in the last part: a process must not reach the end before it is killed.
    targets = sorted(random.Random(20).sample(range(1, length - 40), KILLS))

    log = tmp_path / "run.db"
    left_at = [kill_when(in_process(log, tmp_path, seed), log, at) for at in targets]
    assert len(set(left_at)) > KILLS * 3 // 4, "the kills are not spread out"
    go_on(log, tmp_path, seed)

    assert story(log) == story(undisturbed)
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_while_a_process_records_a_run_nobody_else_may(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.db"
    process = in_process(log, tmp_path, SEED)
    while position(log) < 5 and process.is_alive():
        time.sleep(0.001)
    with pytest.raises(SystemExit) as stopped:
        main(["resume", str(log)])
    assert stopped.value.code == 2
    assert f"run.db: process {process.pid} on " in capsys.readouterr().err
    kill_when(process, log, 5)


def test_a_start_killed_as_its_file_appears_is_gone_on_with(tmp_path: Path) -> None:
    undisturbed = record(tmp_path, SEED, name="calm.db")
    log = tmp_path / "run.db"
    process = in_process(log, tmp_path, SEED)
    while not log.exists() and process.is_alive():
        pass
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    go_on(log, tmp_path, SEED)
    assert story(log) == story(undisturbed)


def test_a_log_without_any_event_is_started_anew_with_what_a_kill_left_behind(
    tmp_path: Path,
) -> None:
    world = lively_world(tmp_path, SEED, tasks=2)
    log = tmp_path / "run.db"
    EventLog.create(log, run=world.header().run).close()
    for left in ("run.db.lock", "run.db.new", "run.db.new-journal"):
        (tmp_path / left).write_bytes(b"left over")
    assert not holds_run(log)
    start(log, world)
    assert replay_offline(log).finished
    assert story(log) == story(record(tmp_path, SEED, name="calm.db", tasks=2))


def test_a_log_without_any_event_is_not_taken_over_by_another_run(tmp_path: Path) -> None:
    log = tmp_path / "run.db"
    EventLog.create(log, run="another").close()
    before = log.read_bytes()
    with pytest.raises(BadInput, match=r"run\.db was made for another run .* delete it"):
        start(log, lively_world(tmp_path, SEED, tasks=2))
    assert log.read_bytes() == before
    assert not holds_run(log)


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    log = record(tmp_path, SEED, tasks=2)
    before = story(log)
    world = lively_world(tmp_path, SEED, tasks=2)
    assert resume(log, open_=lambda _: world).tasks == 0
    assert story(log) == before
