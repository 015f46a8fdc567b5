from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from discernmem.eventlog import EventLog
from sample_log import fill


@pytest.fixture
def clock() -> Callable[[], datetime]:
    ticks = count()
    return lambda: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(milliseconds=next(ticks))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@pytest.fixture
def log(path: Path, clock: Callable[[], datetime]) -> Iterator[EventLog]:
    """An empty log, open to write."""
    with EventLog.create(path, run="r", clock=clock) as log:
        yield log


@pytest.fixture
def filled(path: Path, clock: Callable[[], datetime]) -> Path:
    """A closed log of 8 events."""
    with EventLog.create(path, run="r", clock=clock) as log:
        fill(log)
    return path
