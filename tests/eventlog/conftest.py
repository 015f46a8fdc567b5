from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sample_log import fill

from discernmem.eventlog import EventLog


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


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed log of 8 events, not to be touched."""
    path = tmp_path_factory.mktemp("template") / "run.db"
    with EventLog.create(path, run="r") as log:
        fill(log)
    return path


@pytest.fixture
def filled(template: Path, path: Path) -> Path:
    """A closed log of 8 events of one's own."""
    shutil.copy(template, path)
    return path
