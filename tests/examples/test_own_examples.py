"""The examples of a benchmark and a host of one's own, installed and run as a user would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Response, chat, schema_in, scripted
from scripted import SYSTEMS, ScriptedModel

from discernmem.eventlog import EventLog

OWN = Path(__file__).parents[2] / "examples" / "own"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed in it, and nothing else."""
    folder = tmp_path_factory.mktemp("own")
    source = shutil.copytree(OWN, folder / "source")  # building leaves files beside it
    ready = int(metadata.version("setuptools").split(".")[0]) >= 77
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-cache-dir"]
    command += ["--no-index", "--no-build-isolation"] if ready else []
    subprocess.run([*command, "--target", str(folder / "site"), str(source)], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(answer=plays) as made:
        yield made


@pytest.fixture
def discernmem(site: Path, tmp_path: Path) -> Command:
    def run(*arguments: str, status: int = 0, own: bool = True) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(site) if own else ""}
        done = subprocess.run(
            [sys.executable, "-m", "discernmem.cli", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


decide = scripted(ScriptedModel(lambda *_: ""))


def plays(body: dict[str, Any]) -> Response:
    """Decisions are harmless; a reviewer agrees at second sight, everyone else halves the range."""
    system, prompt = body["messages"][0]["content"], body["messages"][-1]["content"]
    if body["messages"][0]["role"] != "system" or system in SYSTEMS:
        return decide(body)
    if system.startswith("You review"):
        return chat("AGREED" if "[writer]" in prompt and body["seed"] % 2 else "Think again.")
    low = max([0, *map(int, re.findall(r"It is higher than (\d+)", prompt))])
    high = min([21, *map(int, re.findall(r"It is lower than (\d+)", prompt))])
    guess = str((low + high) // 2)
    return chat(json.dumps({"action": guess}) if schema_in(body)[1] else guess)


@pytest.mark.parametrize("file", ["own_benchmark.py", "own_host.py"])
def test_an_example_is_complete_in_under_80_lines(file: str) -> None:
    assert len((OWN / file).read_text().splitlines()) < 80


def trajectories(log: Path) -> list[tuple[float, list[dict[str, str]]]]:
    """The score and the steps of each execution."""
    with EventLog.open(log) as opened:
        events = [recorded.event for recorded in opened.read(types=("ExecutionFinished",))]
        return [(each.score, json.loads(opened.text(each.trajectory))) for each in events]


@pytest.mark.parametrize("host", ["review", "autogen"])
def test_the_benchmark_is_played_by_its_name_to_a_log_that_proves_itself(
    discernmem: Command, endpoint: Endpoint, tmp_path: Path, host: str
) -> None:
    model = f"{endpoint.url}#m"
    own = ["--benchmark", "guess", "--host", host, "--model", model, "--tasks", "2"]
    discernmem("run", "run.db", *own)
    assert "verified" in discernmem("verify", "run.db").stdout
    assert "all equal" in discernmem("replay", "run.db", "--offline").stdout
    for score, steps in trajectories(tmp_path / "run.db"):
        assert score == 1.0
        assert steps[-1]["text"].endswith("is right.")


def test_the_host_plays_a_benchmark_of_the_package(discernmem: Command, endpoint: Endpoint) -> None:
    model = f"{endpoint.url}#m"
    discernmem("run", "run.db", "--host", "review", "--model", model, "--tasks", "2")
    assert "verified" in discernmem("verify", "run.db").stdout
    assert "all equal" in discernmem("replay", "run.db", "--offline").stdout


def test_a_log_outlives_the_plugins_it_was_recorded_with(
    discernmem: Command, endpoint: Endpoint
) -> None:
    own = ["--benchmark", "guess", "--host", "review", "--model", f"{endpoint.url}#m"]
    discernmem("run", "run.db", *own, "--tasks", "2", "--until", "1")
    assert "verified" in discernmem("verify", "run.db", own=False).stdout
    assert "all equal" in discernmem("replay", "run.db", "--offline", own=False).stdout
    refused = discernmem("resume", "run.db", status=2, own=False).stderr
    assert "host 'review' is unknown" in refused
    discernmem("resume", "run.db")


def test_an_option_the_benchmark_cannot_use_is_one_line(discernmem: Command) -> None:
    wrong = discernmem(
        "run", "x.db", "--benchmark", "guess", "--set", "benchmark.highest=1", status=2
    )
    assert wrong.stderr.count("\n") == 1
    assert "highest >= 2" in wrong.stderr
