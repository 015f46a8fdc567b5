"""The command `report`: what it writes, what it prints, and what it refuses to overwrite."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lively import quick_folder, record

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import Infrastructure
from discernmem.pages.report import figures_of, writing
from discernmem.projections.timeline import Timeline


@pytest.fixture(scope="module")
def recorded() -> Iterator[Path]:
    with quick_folder() as folder:
        yield record(folder, 8, tasks=3)


@pytest.fixture
def folder(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``run.db``, to be in."""
    shutil.copy(recorded, tmp_path / "run.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a refusal, that changes nothing."""
    before = contents(folder)
    with pytest.raises(SystemExit) as ended:
        main(["report", *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert contents(folder) == before
    return said.err


# -- what it does ------------------------------------------------------------------------------


def test_it_writes_one_file_and_says_which(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report"])
    assert capsys.readouterr().out == "wrote report.html\n"
    assert contents(folder).keys() == {"run.db", "report.html"}


def test_the_log_may_be_named_by_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "run.db").rename(folder / "other.db")
    monkeypatch.setenv("DISCERNMEM_LOG", str(folder / "other.db"))
    main(["report"])
    assert "<h1><bdi>other.db</bdi></h1>" in (folder / "report.html").read_text("utf-8")


def test_an_empty_variable_names_no_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCERNMEM_LOG", "")
    main(["report"])
    assert "<h1><bdi>run.db</bdi></h1>" in (folder / "report.html").read_text("utf-8")


def test_json_has_the_figures_and_writes_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", "run.db", "--json"])
    found = json.loads(capsys.readouterr().out)
    with EventLog.open("run.db") as log:
        assert found == json.loads(json.dumps(figures_of(log, "run.db").plain()))
    assert found["scores"]["tasks"] == found["done"] == 3
    shutil.copy("run.db", "copy.db")
    main(["report", "run.db", "copy.db", "--json"])
    both = json.loads(capsys.readouterr().out)
    assert both["runs"][0] == found
    assert both["against_the_first"][0]["gain"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert contents(folder).keys() == {"run.db", "copy.db"}


def test_side_files_that_a_pattern_names_along_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EventLog.open("run.db") as log, Timeline(log) as timeline:
        timeline.catch_up()
    assert (folder / "run.store.db").exists()
    main(["report", "run.db", "run.store.db"])
    assert capsys.readouterr().out == "wrote report.html\n"
    assert "run.store.db" not in (folder / "report.html").read_text("utf-8")


def test_a_log_named_twice_is_one_run(folder: Path) -> None:
    main(["report", "run.db", "run.db"])
    assert "<h1><bdi>run.db</bdi></h1>" in (folder / "report.html").read_text("utf-8")


# -- what it overwrites ------------------------------------------------------------------------


def test_an_older_report_is_overwritten_whole(folder: Path) -> None:
    main(["report", "run.db"])
    first = (folder / "report.html").read_bytes()
    (folder / "report.html").write_bytes(first + b"x" * 100_000)
    main(["report", "run.db"])
    assert (folder / "report.html").read_bytes() == first


def test_an_empty_file_is_overwritten(folder: Path) -> None:
    (folder / "report.html").touch()
    main(["report", "run.db"])
    assert (folder / "report.html").stat().st_size > 1000


def test_a_link_to_a_report_stays_a_link(folder: Path) -> None:
    (folder / "published").mkdir()
    (folder / "report.html").symlink_to(folder / "published" / "index.html")
    main(["report", "run.db"])
    assert (folder / "report.html").is_symlink()
    assert (folder / "published" / "index.html").stat().st_size > 1000


def test_what_fails_on_the_way_leaves_the_older_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["report", "run.db"])
    before = contents(folder)

    def full(*_: object) -> None:
        raise Infrastructure("the disk is full")

    monkeypatch.setattr(writing.files, "publish", full)
    with pytest.raises(SystemExit) as ended:
        main(["report", "run.db"])
    assert ended.value.code == 3
    assert contents(folder) == before


@pytest.mark.parametrize("target", ["run.db", "copy.db", "other.sqlite", "notes.md", "link.html"])
def test_a_log_a_database_or_any_other_file_is_never_overwritten(
    target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("run.db", "copy.db")
    with closing(sqlite3.connect("other.sqlite")) as made:
        made.execute("create table t (x)")
    (folder / "notes.md").write_text("# My notes")
    (folder / "link.html").symlink_to(folder / "run.db")
    said = refused(["run.db", "-o", target], folder, capsys)
    assert said == (
        f"discernmem: {target} exists and is no report; name another file or remove it\n"
    )


def test_a_file_where_it_would_be_drafted_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("run.db", "report.html.new")
    assert "report.html.new exists and is no report" in refused(["run.db"], folder, capsys)


# -- bad input ---------------------------------------------------------------------------------


def test_a_target_that_is_no_place_for_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pages").mkdir()
    os.mkfifo(folder / "pipe.html")
    (folder / "gone.html").symlink_to("none/gone.html")
    for target, says in (
        ("pages", "pages is a folder; name a file in it"),
        ("none/report.html", "none is not a folder; make it, or name another place"),
        ("run.db/report.html", "run.db is not a folder; make it, or name another place"),
        ("pipe.html", "pipe.html is no file that can be replaced; name another one"),
        ("-", "-o -: a report is written to a file; name one, such as report.html"),
        (
            "gone.html",
            f"{folder}/none/gone.html.new: No such file or directory; name another place",
        ),
        (f"{'n' * 300}.html", f"{'n' * 300}.html: File name too long; name another file"),
    ):
        assert refused(["run.db", "-o", target], folder, capsys) == f"discernmem: {says}\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.db", "not readable: No such file or directory; give the path of a log"),
        ("text.db", "text.db is not an SQLite file; give the path of a log"),
        ("newer.db", "newer.db has log format 7, this code reads format 1"),
        ("other.db", "other.db is an SQLite file of another program"),
        ("norun.db", "norun.db: holds no run; start one with `discernmem run`"),
        (".", "Is a directory; give the path of a log"),
    ],
)
def test_what_holds_no_run_is_refused(
    name: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "text.db").write_text("no log " * 30)
    shutil.copy("run.db", "newer.db")
    for path, statement in (
        ("newer.db", "pragma user_version = 7"),
        ("other.db", "create table t (x)"),
    ):
        with closing(sqlite3.connect(path)) as opened:
            opened.execute(statement)
            opened.execute("pragma journal_mode = delete")
    EventLog.create(folder / "norun.db", run="r").close()
    assert says in refused([name], folder, capsys)
    assert says in refused(["run.db", name], folder, capsys)
    assert says in refused([name, "--json"], folder, capsys)


def test_stories_are_of_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("run.db", "copy.db")
    said = refused(["run.db", "copy.db", "--stories", "3"], folder, capsys)
    assert said == "discernmem: --stories: stories are told of one run; give one log\n"
    assert "--stories" in refused(["run.db", "--stories", "-1"], folder, capsys)
