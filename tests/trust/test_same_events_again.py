"""Neither the hash seed nor the order of keys in a model's JSON changes any conclusion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
from lively import rich_seed

from discernmem.eventlog import EventLog, plain
from discernmem.eventlog.events import DERIVED

LITERAL = ("replies",)
"""What names a model's very words; it differs when they do."""


def record_apart(log: Path, folder: Path, hash_seed: int, *options: str) -> None:
    support = str(Path(processes.__file__).parent)
    subprocess.run(
        [sys.executable, processes.__file__, str(log), str(folder), str(rich_seed()), *options],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": support},
        check=True,
    )


def conclusions(log: Path) -> list[tuple[Any, ...]]:
    with EventLog.open(log) as opened:
        return [
            (
                r.event_id,
                r.stream_id,
                r.type,
                r.task_index,
                r.causation_id,
                {key: value for key, value in plain(r.event).items() if key not in LITERAL},
            )
            for r in opened.read(types=DERIVED)
        ]


def replies(log: Path) -> list[str]:
    with EventLog.open(log) as opened:
        return [r.event.text for r in opened.read(types=["ModelReplied"])]  # type: ignore[attr-defined]


def test_hash_seed_and_key_order_change_no_conclusion(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    record_apart(one, tmp_path, 1)
    record_apart(other, tmp_path, 2, "reverse")
    assert replies(one) != replies(other), "the keys were not reversed"
    assert conclusions(one) == conclusions(other)
