"""A mistake of the user costs one line and exit status 2, and leaves every file as it was."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from lively import LivelyModel, record
from scripted import BagEmbedder

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.replayers import world

SEED = 8
ITEM = {
    "id": "q1",
    "family": "one-fact",
    "question": "What is right?",
    "passages": ["The answer is right."],
    "aliases": ["right"],
}

BY_CAPABILITY = """
import ctypes, os, sys
# Permissions do not bind root. Without CAP_DAC_OVERRIDE they do.
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "discernmem.cli", *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), SEED, tasks=3)


@pytest.fixture
def folder(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stream, a log at rest and some files that are none; work is done in it."""
    shutil.copy(recorded, tmp_path / "run.db")
    shutil.copy(recorded.with_name("run.db.head"), tmp_path / "run.db.head")
    (tmp_path / "stream.jsonl").write_text(json.dumps(ITEM) + "\n")
    (tmp_path / "twice.jsonl").write_text((json.dumps(ITEM) + "\n") * 2)
    (tmp_path / "config.toml").write_text('benchmark = { source = "stream.jsonl" }\n')
    (tmp_path / "typo.toml").write_text("[method]\nepsilom = 0.1\n")
    (tmp_path / "flat.toml").write_text("method = 3\n")
    (tmp_path / "broken.toml").write_text("[method\n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "date.toml").write_text("[benchmark]\nlimit = 2026-01-01\n")
    (tmp_path / "text.db").write_text("not a log, though long enough to be one\n" * 100)
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.gguf").write_text("not a model")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("create table t (a)")
    connection.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"a folder"
        for path in folder.rglob("*")
    }


def refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line a refused command says."""
    before = files(folder)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert said.out == ""
    assert re.fullmatch(r"discernmem: .+\n", said.err), said.err
    assert files(folder) == before
    return said.err


def run(*options: str) -> list[str]:
    return ["run", "new.db", "--config", "config.toml", *options]


CONFIGURATION = {
    "unknown key": (run("--set", "method.epsilom=1"), r"\[method\]: unknown key 'epsilom'; known"),
    "unknown section": (run("--set", "methods.epsilon=1"), "unknown key 'methods'; known: host"),
    "unknown key in a file": (["run", "new.db", "--config", "typo.toml"], "typo.toml: .*epsilom"),
    "negative epsilon": (run("--epsilon", "-1"), r"epsilon must be >= 0 \(got -1\)"),
    "epsilon that is no number": (run("--epsilon", "nan"), "epsilon must be finite"),
    "seed in words": (run("--seed", "abc"), r"'--seed': 'abc' is not a valid int"),
    "seed in words by --set": (run("--set", "method.seed=abc"), "seed must be a whole number"),
    "seed beyond all bounds": (run("--seed", str(2**80)), "seed.* beyond 64 bits"),
    "temperature": (run("--temperature", "3"), r"temperature must be in \[0, 2\] \(got 3\)"),
    "no top_p": (run("--set", "sampling.top_p=0"), r"top_p must be in \(0, 1\] \(got 0\)"),
    "top_p too high": (
        run("--set", "sampling.top_p=1.5"),
        r"top_p must be in \(0, 1\] \(got 1.5\)",
    ),
    "no tasks": (run("--tasks", "0"), "tasks must be >= 1"),
    "reuse in words": (run("--set", "reuse=perhaps"), "reuse must be true or false"),
    "set without a value": (run("--set", "epsilon"), "--set epsilon: write it as key=value"),
    "set into a value": (run("--set", "host.name=x"), "host must be a string"),
    "set below a value": (run("--set", "host=y", "--set", "host.name=x"), "host is 'y', not a tab"),
    "set of nothing": (run("--set", "=3"), "unknown key ''"),
    "section that is a number": (run("--set", "model=3"), r"\[model\] must be a table"),
    "option into a flat file": (
        ["run", "new.db", "--config", "flat.toml", "--epsilon", "0.1"],
        "method is 3, not a table",
    ),
    "no TOML": (["run", "new.db", "--config", "broken.toml"], "broken.toml: is not TOML"),
    "no text": (["run", "new.db", "--config", "binary.toml"], "binary.toml: is not TOML"),
    "no file": (["run", "new.db", "--config", "absent.toml"], "absent.toml: cannot be read"),
    "a folder": (["run", "new.db", "--config", "."], "cannot be read"),
    "a date": (["run", "new.db", "--config", "date.toml"], "date.toml"),
    "unknown benchmark": (run("--benchmark", "chess"), "benchmark 'chess' is unknown; known: kodc"),
    "unknown host": (run("--host", "committee"), "host 'committee' is unknown; use one of autogen"),
    "host file that is not there": (run("--host", "absent.toml"), "host absent.toml: No such file"),
    "host that is no host": (run("--host", "flat.toml"), "host flat.toml: unknown key"),
    "host object that is not there": (run("--host", "absent.py:team"), "cannot be imported"),
    "sandbox off for what has none": (run("--unsafe-no-sandbox"), "unknown option 'sandbox'"),
    "unknown ablation": (run("--without", "scope"), "'scope' is not one of 'meta-memory'"),
    "actor temperature": (run("--actor-temperature", "3"), r"must be in \[0, 2\] \(got 3\)"),
    "unknown benchmark option": (
        run("--set", "benchmark.colour=1"),
        r"\[benchmark\] reading: unknown option 'colour'; known: source, limit, limit_more",
    ),
    "limit in words": (run("--set", "benchmark.limit=few"), "limit is 'few'; give a whole number"),
    "missing stream": (run("--set", "benchmark.source=absent.jsonl"), "absent.jsonl.*No such file"),
    "id used twice": (
        run("--set", "benchmark.source=twice.jsonl"),
        "twice.jsonl, line 2: id 'q1' was used in line 1",
    ),
    "missing model": (run("--model", "absent.gguf"), "model file absent.gguf: No such file"),
    "no GGUF": (run("--model", "text.gguf"), "model file text.gguf is not GGUF"),
    "server without a model": (run("--model", "http://localhost:1/v1"), "add the model's name"),
}


@pytest.mark.parametrize("case", CONFIGURATION)
def test_a_run_that_is_not_configured_rightly_is_refused(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, message = CONFIGURATION[case]
    assert re.search(message, refused(arguments, folder, capsys))
    if "--model" not in arguments:
        assert re.search(message, refused([*arguments, "--dry-run"], folder, capsys))


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_folder_is_no_file_of_passages(
    place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Is a directory; name a file of passages" in refused(["index", place], folder, capsys)


PLACES = {
    "a log": ("run.db", "run.db holds a run already; `discernmem resume run.db` goes on"),
    "another file": ("text.db", "text.db is not an SQLite file"),
    "an empty file": ("empty.db", "empty.db is empty"),
    "a folder": (".", "Is a directory"),
    "no folder": ("absent/new.db", "No such file or directory"),
    "below a file": ("text.db/new.db", "Not a directory"),
    "kernel": ("/proc/new.db", "cannot be opened for writing"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_run_is_refused_where_it_cannot_be_before_a_model_is_loaded(
    place: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, message = PLACES[place]
    monkeypatch.setattr(
        "discernmem.replayers.world.open_model",
        lambda *_, **__: pytest.fail("the model was loaded first"),
    )
    line = refused(["run", path, "--config", "config.toml"], folder, capsys)
    assert re.search(message, line)


def test_a_run_is_refused_in_a_folder_that_may_not_be_written(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", BY_CAPABILITY, "run", "closed/new.db", "--config", "config.toml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        r"discernmem: closed/new\.db: cannot be opened for writing: Permission denied; .+\n",
        done.stderr,
    )
    assert list(closed.iterdir()) == []


def test_a_log_is_read_in_a_folder_that_may_not_be_written(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    shutil.copy(folder / "run.db", closed)
    closed.chmod(0o555)
    arguments = ["store", "closed/run.db", "--at", "2", "--json"]
    done = [
        subprocess.run(
            [sys.executable, *way, *arguments], capture_output=True, text=True, check=False
        )
        for way in (("-c", BY_CAPABILITY), ("-m", "discernmem.cli"))
    ]
    assert done[0].returncode == 0, done[0].stderr
    assert done[0].stdout == done[1].stdout != ""


READING = {
    "store": ["store", "LOG"],
    "why": ["why", "m1", "LOG"],
    "blame": ["blame", "m1", "LOG"],
    "diff": ["diff", "LOG", "--from", "0", "--to", "1"],
    "log": ["log", "LOG"],
    "replay": ["replay", "--offline", "LOG"],
    "resume": ["resume", "LOG"],
}
FILES = {
    "absent.db": "absent.db: not readable: No such file or directory",
    "text.db": "text.db is not an SQLite file",
    "empty.db": "empty.db is empty: not a log",
    "other.db": "other.db is an SQLite file of another program",
    "newer.db": r"newer.db has log format 7, this code reads format 1; install",
    "event.db": r"event.db: RunFinished has schema version 9 in the log, this code reads up to 1",
    "kind.db": r"kind.db: unknown event type 'TeaServed': the log was written by another version",
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("command", READING)
def test_a_file_that_is_no_log_of_this_code_is_refused_by_every_command(
    command: str, file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {
        "newer.db": "pragma user_version = 7",
        "event.db": "update events set schema_version = 9 where type = 'RunFinished'",
        "kind.db": "update events set type = 'TeaServed' where type = 'RunFinished'",
    }
    if file in changed:
        shutil.copy(folder / "run.db", folder / file)
        with sqlite3.connect(folder / file) as connection:
            connection.execute("drop trigger events_no_update")
            connection.execute(changed[file])
        connection.close()
    arguments = [file if each == "LOG" else each for each in READING[command]]
    assert re.search(FILES[file], refused(arguments, folder, capsys))


QUESTIONS = {
    "task too high": (["store", "--at", "4"], r"task 4 is not completed in this log \(0 to 3 are"),
    "task below zero": (["store", "--at", "-1"], "task -1 is not completed"),
    "task in words": (["store", "--at", "last"], "'last' is not a valid int"),
    "diff beyond the end": (["diff", "--from", "1", "--to", "9"], "task 9 is not completed"),
    "diff backwards": (["diff", "--from", "3", "--to", "1"], "give the earlier task first"),
    "diff without an end": (["diff", "--from", "3"], "Missing option '--to'"),
    "unknown memory": (["why", "m99"], r"run.db: has no memory 'm99' \(m1 to m\d\)"),
    "no memory": (["why", "tea"], "has no memory 'tea'"),
    "unknown version": (["why", "m1", "--version", "9"], "m1 has no version 9; it has 1"),
    "life since no task": (["why", "m1", "--since", "0"], r"run.db: has no task 0 \(1 to 3\)"),
    "life since a task too high": (["why", "m1", "--since", "4"], "run.db: has no task 4"),
    "life less than no levels deep": (["why", "m1", "--depth", "-1"], "-1 is not in the range"),
    "blame of no memory": (["blame", "m99"], r"run.db: has no memory 'm99' \(m1 to m\d\)"),
    "blame at no task": (["blame", "m1", "--at", "9"], "task 9 is not completed"),
    "blame before there was anything": (
        ["blame", "m1", "--at", "0"],
        r"run.db: m1 was admitted later, in task \d",
    ),
    "unknown type": (["log", "--type", "TeaServed"], "no such event; known: RunStarted, "),
    "events of no task": (["log", "--task", "0"], r"run.db: has no task 0 \(1 to 3\)"),
    "events of a task too high": (["log", "--task", "4"], r"run.db: has no task 4 \(1 to 3\)"),
    "tail of nothing": (["log", "--tail", "0"], "0 is not in the range"),
    "online replay": (["replay"], "Missing option '--offline'"),
    "fork of no task": (["fork", "--at", "9", "--out", "b.db"], "task 9 is not completed"),
    "fork to what is there": (["fork", "--at", "1", "--out", "text.db"], "text.db exists"),
    "fork without a place": (["fork", "--at", "1"], "Missing option '--out'"),
    "origin and no origin": (["resume", "--origin", "x", "--no-origin"], "exclude each other"),
    "comparison with no log": (["compare", "run.db", "absent"], "absent: not readable"),
    "comparison with another file": (["compare", "run.db", "text.db"], "text.db is not an SQLite"),
    "override of nothing": (["override"], "Missing argument"),
    "override without reason": (["override", "retire", "m1"], "Missing option '--reason'"),
    "override after the end": (["override", "retire", "m1", "--reason", "r"], "the run is over"),
    "export to what is there": (["export", "--out", "text.db"], "text.db exists"),
    "export to no folder": (["export", "--out", "absent/e"], "No such file or directory"),
    "export until nowhere": (["export", "--until", "99999"], "has no event at position 99999"),
    "head to a file": (["export", "--head", "--out", "h"], "the head goes to standard output"),
    "import of nothing": (["import", "absent"], "absent: not readable"),
    "import of no export": (["import", "text.db", "new.db"], "export line 1: "),
    "import onto no log": (["import", "text.db", "text.db"], "export line 1: |not an SQLite"),
    "stop at no task": (["resume", "--until", "-1"], "-1 is not in the range"),
    "unknown command": (["brew"], "No such command 'brew'"),
    "unknown option": (["store", "--when", "3"], "No such option"),
    "too many arguments": (["store", "run.db", "run.db"], "unexpected extra argument"),
    "head that is none": (["verify", "--against", "text.db"], "text.db: neither a head"),
    "head that is no text": (
        ["verify", "--against", "binary.toml"],
        r"binary\.toml: neither a head \(three lines: .*\) nor a whole export; give one of .+\n$",
    ),
    "head that is absent": (["verify", "--against", "absent"], "absent: not readable"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_a_question_the_log_cannot_answer_is_refused(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, message = QUESTIONS[case]
    assert re.search(message, refused(arguments, folder, capsys))


def test_a_second_writer_is_refused_with_the_pid_of_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EventLog.open(folder / "run.db", write=True):
        line = refused(["resume", "run.db"], folder, capsys)
        assert re.search(rf"run\.db: process {os.getpid()} on \S+ is writing it; wait", line)
        main(["store", "run.db", "--at", "1"])


def test_a_run_killed_before_its_first_event_is_told_apart_from_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    EventLog.create(folder / "begun.db", run="begun").close()
    line = refused(["resume", "begun.db"], folder, capsys)
    assert "begun.db: holds no run; start one with `discernmem run`" in line


def test_states_are_not_dumped_into_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "open_model", lambda *_, **__: LivelyModel(SEED))
    monkeypatch.setattr(world, "open_embedder", lambda _: BagEmbedder())
    before = files(folder)
    with pytest.raises(SystemExit) as stopped:
        main(run("--dump-states", "text.db"))
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "discernmem: --dump-states text.db: File exists; name a folder\n"
    )
    assert files(folder) == before
