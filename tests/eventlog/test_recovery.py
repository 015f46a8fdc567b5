"""What lies beside a log is taken up only if it belongs to the log as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sample_log import admitted, completed, fill

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import LogError
from discernmem.eventlog.verify import verify_file


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.glob("run.db*")
        if not path.name.endswith("-shm")
    }


def killed(log: EventLog, folder: Path) -> Path:
    """The log as its writer would leave it if it were killed now."""
    folder.mkdir()
    for path in log.path.parent.glob("run.db*"):
        shutil.copy(path, folder / path.name)
    return folder / "run.db"


def write_tasks(path: Path, first: int, last: int) -> None:
    with EventLog.open(path, write=True) as log:
        log.append(
            [
                draft
                for index in range(first, last + 1)
                for draft in (admitted(f"m{index}", index), completed(index))
            ]
        )


def test_what_a_killed_writer_left_is_taken_up(path: Path, tmp_path: Path) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
    with EventLog.open(path, write=True) as log:
        log.append([completed(3)])
        left = killed(log, tmp_path / "left")
    with EventLog.open(left, write=True) as log:
        assert log.append([completed(4)])[0].position == 10
    assert verify_file(left).ok


def test_a_write_ahead_log_of_an_earlier_state_is_refused_and_nothing_changed(
    path: Path, tmp_path: Path
) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
        old = killed(log, tmp_path / "old")
    write_tasks(path, 3, 4)
    shutil.copy(f"{old}-wal", f"{path}-wal")
    before = contents(path.parent)
    with pytest.raises(
        LogError, match=r"run\.db-wal beside it is of another state .* move"
    ) as told:
        EventLog.open(path, write=True)
    assert "\n" not in str(told.value)
    assert contents(path.parent) == before
    path.with_name("run.db-wal").unlink()
    with EventLog.open(path, write=True) as log:
        assert log.head().position == 12


def test_a_mix_of_two_states_is_refused_and_nothing_changed(path: Path, tmp_path: Path) -> None:
    """Pages of the write-ahead log that are older than those around them in the main file."""
    EventLog.create(path, run="r").close()
    write_tasks(path, 1, 300)
    with EventLog.open(path, write=True) as log:
        log.append([completed(301)])
        old = killed(log, tmp_path / "old")
    write_tasks(path, 302, 600)
    path.with_name("run.db.head").unlink()
    shutil.copy(f"{old}-wal", f"{path}-wal")
    before = contents(path.parent)
    with pytest.raises(LogError, match="or one of them is damaged"):
        EventLog.open(path, write=True)
    assert contents(path.parent) == before


def test_an_older_copy_in_the_place_of_a_log_is_gone_on_with(path: Path, tmp_path: Path) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
    copy = shutil.copy(path, tmp_path / "copy.db")
    write_tasks(path, 3, 4)
    shutil.copy(copy, path)
    with EventLog.open(path, write=True) as log:
        log.append([completed(3)])
        left = killed(log, tmp_path / "left")
    with EventLog.open(left, write=True) as log:
        assert log.head().position == 9


@pytest.mark.parametrize("text", ["no head", "discernmem/eventlog/another\n99\n" + "0" * 64])
def test_a_head_of_another_log_says_nothing(path: Path, text: str) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
    head = path.with_name("run.db.head")
    head.write_text(text)
    with EventLog.open(path, write=True):
        assert head.read_text() == text
