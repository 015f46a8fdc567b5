"""The logs that the tests of the site look at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lively import record, rich_seed
from site_logs import HOSTILE, admit

from discernmem.eventlog import EventLog


@pytest.fixture(scope="session")
def lively_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("site"), rich_seed())


@pytest.fixture(scope="session")
def hostile_log(lively_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lively log with memories, roles and conditions of texts that are no words."""
    path = Path(shutil.copy(lively_log, tmp_path_factory.mktemp("hostile") / "run.db"))
    with EventLog.open(path, write=True) as log:
        for text in HOSTILE:
            admit(log, text, use_when=(text,), role=text[:200])
    return path


@pytest.fixture
def log_path(lively_log: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(lively_log, tmp_path / "run.db"))
