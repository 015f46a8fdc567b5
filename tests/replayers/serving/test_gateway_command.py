"""``discernmem gateway``: a team served on a port, stopped at any moment, gone on with."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from endpoint import Endpoint, scripted
from gateways import TEAMS, TeamModel
from processes import story
from scripted import stream_file

from discernmem.cli import main
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.verification import verify_run

HOST = 'name = "pair"\n[gateway]\nroles = ["planner", "writer"]\n'


# Tests that run in the background are told to ignore interruptions, and so are their children.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from discernmem.cli import main; main()"
)


@pytest.fixture
def options(tmp_path: Path) -> Iterator[list[str]]:
    """What a run of two tasks is given, its host driven from outside."""
    (tmp_path / "team.toml").write_text(HOST)
    stream_file(tmp_path / "stream.jsonl", ["What is in jar 1?", "What is in jar 2?"])
    with Endpoint(answer=scripted(TeamModel())) as endpoint:
        yield [
            *("--host", str(tmp_path / "team.toml")),
            *("--benchmark", "reading", "--set", f"benchmark.source={tmp_path / 'stream.jsonl'}"),
            *("--model", f"{endpoint.url}#m", "--theta", "-1"),
        ]


@contextmanager
def gateway(log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address it says."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "gateway", str(log), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = next(find for line in process.stdout if (find := re.search(r"GET (\S+)/next", line)))
        yield process, url[1]
    finally:
        process.kill()
        process.communicate()


def drive(url: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, TEAMS / "driver.py", url, *arguments])


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How it ended, and the last thing it complained of."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err.strip().splitlines()[-1] if err.strip() else ""


def record(log: Path, options: list[str]) -> None:
    with gateway(log, *options) as (process, url):
        driver = drive(url)
        assert ended(process)[0] == 0
        assert driver.wait(timeout=60) == 0


def test_a_driver_plays_a_whole_run(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "run.db"
    record(log, options)
    assert verify_run(log).ok
    assert replay_offline(log).finished


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle_of_a_pass_gateway_again_serves_the_open_task(
    tmp_path: Path, options: list[str], how: signal.Signals
) -> None:
    whole, log = tmp_path / "whole.db", tmp_path / "run.db"
    record(whole, options)
    spoke = tmp_path / "spoke"
    with gateway(log, *options) as (process, url):
        driver = drive(url, str(spoke))
        try:
            while not spoke.exists():
                assert driver.poll() is None
                threading.Event().wait(0.01)
            process.send_signal(how)
            status, complaint = ended(process)
        finally:
            driver.kill()
            driver.wait()
    if how == signal.SIGINT:
        assert status == 130
        assert re.fullmatch(
            rf"discernmem: interrupted; {log} ends at event \d+, \d of 2 tasks are done; "
            rf"`discernmem gateway {log} --port 0` goes on",
            complaint,
        )
    record(log, [])
    assert story(log) == story(whole)


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["gateway", *arguments])
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_going_on_with_other_options_is_refused(
    tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.db"
    record(log, [*options, "--until", "1"])
    assert "holds a run with other options" in failed(capsys, str(log), "--epsilon", "0.5")


def test_a_host_that_discernmem_plays_itself_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.db"
    err = failed(capsys, str(log), "--host", "autogen", "--model", "http://127.0.0.1:9/v1#m")
    assert "host autogen is played by discernmem itself" in err
    assert not log.exists()


def test_a_team_with_a_command_needs_no_driver(tmp_path: Path, options: list[str]) -> None:
    command = json.dumps([sys.executable, str(TEAMS / "plain.py")])
    (tmp_path / "team.toml").write_text(f"{HOST}command = {command}\n")
    log = tmp_path / "run.db"
    main(["gateway", str(log), "--port", "0", *options])
    assert verify_run(log).ok
    again = tmp_path / "again.db"
    main(["run", str(again), *options])
    assert story(again) == story(log), "run serves it too, on a port of its own"
