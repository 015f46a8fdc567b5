"""The command `serve`: what it refuses before anything is served, and how it ends."""

from __future__ import annotations

import html
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from site_logs import served
from terminals import COMMAND

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.projections.visible import visible


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    output = capsys.readouterr()
    assert ended.value.code == 2
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err


def newer(path: Path) -> Path:
    EventLog.create(path, run="new").close()
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    return path


def test_what_is_no_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.db"
    text.write_text("not a log, however long this goes on " * 10)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("create table something (x)")
    connection.close()
    assert "No such file" in refused(capsys, str(tmp_path / "none.db"))
    assert "Is a directory" in refused(capsys, str(tmp_path))
    assert "is not an SQLite file" in refused(capsys, str(text))
    assert "of another program" in refused(capsys, str(tmp_path / "other.db"))
    assert "format 99" in refused(capsys, str(newer(tmp_path / "newer.db")))


@pytest.mark.parametrize("name", ["a b%41#u?.db", "\udcff.db", "up\x1b[2J\nand \u202eaway.db"])
def test_a_log_of_any_name_is_served(name: str, log_path: Path) -> None:
    path = log_path.rename(log_path.with_name(name))
    with served(path) as url, urllib.request.urlopen(url) as answer:
        assert "/-/memories" in answer.url
        assert visible(name) in html.unescape(answer.read().decode())


def test_a_port_in_use_is_refused(log_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(capsys, str(log_path), "--port", port)
    assert f"--port {port}" in said
    assert "in use" in said


def test_a_host_of_no_machine_is_refused(
    log_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, str(log_path), "--host", "192.0.2.7", "--allow-remote", "--port", "0")
    assert "--host 192.0.2.7" in said
    said = refused(capsys, str(log_path), "--host", "none.invalid", "--allow-remote")
    assert "Errno" not in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_others_are_let_in_only_on_request(
    log_path: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--allow-remote" in refused(capsys, str(log_path), "--host", host)


def test_a_missing_extra_is_named(log_path: Path, tmp_path: Path) -> None:
    (tmp_path / "datasette.py").write_text("raise ImportError('No module named datasette')")
    ended = subprocess.run(
        [sys.executable, "-m", "discernmem.cli", "serve", str(log_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "pip install 'discernmem[serve]'" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_it_serves_until_it_is_interrupted(log_path: Path) -> None:
    with served(log_path) as url:
        with urllib.request.urlopen(url) as answer:
            assert answer.url == f"{url}/run/-/memories"
            assert b"<h1" in answer.read()
        request = urllib.request.Request(url, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        refused.value.close()
        assert refused.value.code == 400


def test_letting_others_in_is_said(log_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", str(log_path), "--port", "0",
         "--host", "0.0.0.0", "--allow-remote"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    assert "no password" in server.stderr.readline()
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=30)
    assert server.returncode == 0


@pytest.mark.parametrize("name", ["a run, of 50 %.db", "run", "run.v2.db", "-.db", "_internal.db"])
def test_a_log_may_have_any_name(log_path: Path, name: str) -> None:
    path = log_path.rename(log_path.with_name(name))
    with served(path) as url, urllib.request.urlopen(url) as answer:
        html = answer.read().decode()
        found = re.search(r'href="([^"]*/memories/m1)"', html)
        assert found is not None
        with urllib.request.urlopen(f"{url}{found[1]}") as memory:
            assert b"Memory m1" in memory.read()
