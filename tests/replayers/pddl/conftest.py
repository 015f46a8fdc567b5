"""What the planning tests share: the generated stream, and where AgentBoard's own files lie."""

from pathlib import Path

import pytest
from beside import shared_data

from discernmem.replayers.benchmarks.pddl import PddlBenchmark


@pytest.fixture(scope="session")
def paper() -> PddlBenchmark:
    return PddlBenchmark()


@pytest.fixture(scope="session")
def agentboard() -> Path:
    return shared_data("agentboard")
