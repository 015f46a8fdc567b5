"""Killed, out of space, interrupted: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sample_log import LONG, admitted, completed, draft, fill, ref, task_started

from discernmem.eventlog import EventLog, writing
from discernmem.eventlog.errors import BadInput, Infrastructure, LogError
from discernmem.eventlog.verify import verify

BATCH = 5

APPEND_FOREVER = f"""
import sys
from itertools import count
from discernmem.eventlog import EventLog
from sample_log import completed, task_started

with EventLog.open(sys.argv[1], write=True) as log:
    for index in count(log.last_task() + 1):
        batch = [task_started(index, f"text {{index}} " * 200)]
        log.append(batch + [completed(index)] * {BATCH - 1})
        print(index, flush=True)
"""


def test_a_killed_writer_loses_nothing_it_acknowledged_and_leaves_no_half_batch(
    path: Path,
) -> None:
    EventLog.create(path, run="r").close()
    rng = random.Random(3)
    support = Path(__file__).parents[1] / "support"
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", APPEND_FOREVER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(support)},
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(rng.random() * 0.05)
            writer.kill()
            acknowledged = writer.stdout.read().split()
        with EventLog.open(path) as log:
            assert verify(log).ok
            assert log.head().position == log.last_task() * BATCH
            if acknowledged and acknowledged[-1].isdigit():
                assert log.last_task() >= int(acknowledged[-1])


def test_a_full_disk_is_infrastructure_and_the_append_can_be_repeated(log: EventLog) -> None:
    fill(log)
    before = log.head()
    ((pages,),) = log.rows("pragma page_count")
    log.rows(f"pragma max_page_count = {pages + 3}")
    drafts = [task_started(3, "".join(map(chr, range(300, 9000)))), completed(3)]
    with pytest.raises(Infrastructure, match=r"disk is full; nothing of this step was written"):
        log.append(drafts, expected=before.position)
    assert log.head() == before
    assert verify(log, head=before).ok
    log.rows(f"pragma max_page_count = {pages + 3000}")
    assert log.append(drafts, expected=before.position)[-1].position == 10
    assert verify(log, head=before).ok


@pytest.mark.parametrize("step", ["store", "_check_events", "INSERT_LINK", "INSERT_EVENT"])
def test_a_failure_at_any_step_rolls_everything_back(
    log: EventLog, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    fill(log)
    before = (log.head(), log.rows("select count(*) from blobs"))
    drafts = [task_started(3, "new"), admitted("m9", 3), completed(3)]

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        if step.isupper():
            broken.setattr(writing, step, "insert into nowhere values (1)")
            expected: type[BaseException] = LogError
        else:
            broken.setattr(writing.blobs if step == "store" else writing.Writer, step, fail)
            expected = KeyboardInterrupt
        with pytest.raises(expected):
            log.append(drafts)
    assert (log.head(), log.rows("select count(*) from blobs")) == before
    log.append(drafts, expected=before[0].position)
    assert verify(log, head=before[0]).ok


def test_one_refused_draft_refuses_the_whole_append(log: EventLog) -> None:
    with pytest.raises(BadInput, match="cites event"):
        log.append([task_started(1), draft(completed(1).event, 1, "unknown")])
    assert log.head().position == 0
    assert log.rows("select count(*) from blobs") == [(0,)]


def test_a_backup_taken_while_writing_is_a_log(log: EventLog, tmp_path: Path) -> None:
    fill(log)
    copy = tmp_path / "copy.db"
    source, target = sqlite3.connect(log.path), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    with EventLog.open(copy) as backup:
        assert verify(backup, head=log.head()).ok
        assert backup.text(ref(LONG)) == LONG
