from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from invariants import check_saving, check_story
from scenario import Scenario, Story, Tell, play

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for logs; in memory where that exists, since every event waits for the disk."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(prefix="discernmem-", dir=MEMORY))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def tell(folder: Path) -> Tell:
    """Run a scenario with and without reuse, check all that must hold, return the first."""

    def run(scenario: Scenario) -> Story:
        reused = play(scenario, folder / "reused")
        plain = play(scenario, folder / "plain", reuse=False)
        check_story(reused)
        check_story(plain)
        check_saving(reused, plain)
        return reused

    return run
