"""What the planning tests share: the generated stream, and where AgentBoard's own files lie."""

from pathlib import Path

import pytest

from discernmem.replayers.benchmarks.pddl import PddlBenchmark


@pytest.fixture(scope="session")
def paper() -> PddlBenchmark:
    return PddlBenchmark()


@pytest.fixture(scope="session")
def agentboard() -> Path:
    folder = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "agentboard"
    if not folder.is_dir():
        pytest.skip("../shared/data is absent")
    return folder
