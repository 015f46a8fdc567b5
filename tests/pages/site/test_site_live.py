"""The site over a log that is written meanwhile, moved away, or not there any more."""

from __future__ import annotations

import shutil
import sqlite3
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest
from sample_log import admitted, completed, reply, task_started
from site_logs import Site, admit, served
from terminals import PATIENCE

from discernmem.eventlog import EventLog, sidefile
from discernmem.eventlog.sidefile import side_path
from discernmem.projections.timeline import Timeline


def beside(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def test_a_log_that_grows_shows_its_new_events(log_path: Path) -> None:
    site = Site(log_path)
    assert "m5" not in site.page("memories").text
    with EventLog.open(log_path, write=True) as log:
        name = admit(log, "A rule of this very moment")
        assert "A rule of this very moment" in site.page("memories").text
        assert "A rule of this very moment" in site.page(f"memories/{name}").text
        assert name in site.page("search?q=moment").text
        assert site.get("/run.json?sql=select+count(*)+as+n+from+memories&_shape=array").page.html \
            == '[{"n": 5}]'  # fmt: skip
        admit(log, "Another one")
        assert "Another one" in site.page("memories").text
    assert "Another one" in site.page("memories").text


def test_a_log_at_rest_is_left_alone(log_path: Path) -> None:
    before, content = beside(log_path), log_path.read_bytes()
    site = Site(log_path)
    for name in ("memories", "memories/m1", "tasks/3", "events/9", "store", "search?q=look"):
        site.page(name)
    assert site.get(f"{site.base}/events").status == 200
    assert beside(log_path) == before
    assert log_path.read_bytes() == content


def test_a_log_in_a_folder_that_may_not_be_written_is_served(log_path: Path) -> None:
    log_path.parent.chmod(0o555)
    try:
        site = Site(log_path)
        site.page("memories/m1")
        assert site.get(f"{site.base}/events").status == 200
    finally:
        log_path.parent.chmod(0o755)


def test_a_log_that_is_gone_has_a_page_that_says_so(
    log_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(log_path)
    site.page("memories")
    log_path.unlink()
    assert "run.db is no longer there" in site.page("memories", status=410).text
    for address in (site.base, f"{site.base}/events"):
        found = site.get(address)
        assert (found.status, "no longer there" in found.page.text) == (410, True)
    assert capsys.readouterr() == ("", "")


def test_another_log_in_its_place_is_not_taken_for_it(log_path: Path, tmp_path: Path) -> None:
    site = Site(log_path)
    site.page("memories")
    with EventLog.create(tmp_path / "other.db", run="other") as other:
        other.head()
    (tmp_path / "other.db").replace(log_path)
    assert "was replaced by another one" in site.page("memories", status=410).text


def test_an_older_copy_in_its_place_shows_what_it_has(log_path: Path, tmp_path: Path) -> None:
    copy = shutil.copy(log_path, tmp_path / "copy.db")
    with EventLog.open(log_path, write=True) as log:
        admit(log, "A rule that will not last")
    site = Site(log_path)
    assert "m5" in site.page("memories").text
    Path(copy).replace(log_path)
    assert "m5" not in site.page("memories").text


def test_a_damaged_log_has_a_page_that_says_so(log_path: Path) -> None:
    site = Site(log_path)
    site.page("memories")
    size = log_path.stat().st_size
    with log_path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    assert "damaged" in site.page("memories/m1", status=503).text


def test_an_empty_log_is_served(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    EventLog.create(path, run="new").close()
    site = Site(path)
    assert "no memories yet" in site.page("memories").text
    assert "begun no task yet" in site.page("tasks").text
    assert "No memory was there yet" in site.page("store").text
    assert "has none yet" in site.page("memories/m1", status=404).text
    site.page("search?q=rule")
    site.page("events/1", status=404)


# -- beside a writer ---------------------------------------------------------------------------


WRITES = 300


def hammering(url: str, path: Path, begun: Barrier, ended: Event) -> Callable[[str], None]:
    """Ask for a page again and again, from before ``begun`` until ``ended``."""

    def ask(name: str) -> None:
        waits = True
        while not ended.is_set():
            with urllib.request.urlopen(f"{url}/{path.stem}{name}") as answer:
                answer.read()
            if waits:
                begun.wait(PATIENCE)
                waits = False

    return ask


def test_a_writer_waits_for_no_reader(log_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever may not wait at all fails at the first lock that is in the way.
    monkeypatch.setattr(sidefile, "BUSY_SECONDS", 0)
    names = (
        "/-/memories",
        "/-/memories/m4",
        "/-/store?at=8",
        "/-/tasks/7",
        "/-/events/9?citations=all",
        "/events?_size=max",
        "?sql=select+count(*)+from+causes+a,+events+b",
    )
    begun, ended = Barrier(len(names) + 1), Event()
    with served(log_path) as url, ThreadPoolExecutor(len(names)) as pool:
        asking = [pool.submit(hammering(url, log_path, begun, ended), name) for name in names]
        try:
            with EventLog.open(log_path, write=True) as log, Timeline(log) as timeline:
                before = log.head().position
                assert log._connection is not None
                log._connection.execute("pragma busy_timeout = 0")
                begun.wait(PATIENCE)
                for _ in range(WRITES):
                    admit(log, "Look again")
                    timeline.catch_up()
                assert not timeline._side.in_memory
                # Closing brings all into one file, which a reader in the middle may put off.
                log._connection.execute("pragma busy_timeout = 10000")
        finally:
            ended.set()
        for each in asking:
            each.result()
    with EventLog.open(log_path) as log:
        assert log.head().position == before + WRITES


def test_the_side_file_is_never_opened(log_path: Path) -> None:
    with sqlite3.connect(side_path(log_path)) as locked:
        locked.execute("create table something (x)")
        locked.execute("begin exclusive")
        site = Site(log_path)
        for name in ("memories", "memories/m1", "memories/m4", "tasks/3", "events/9", "store"):
            site.page(name)
        locked.execute("rollback")
    locked.close()


def test_a_task_that_is_not_completed_leads_to_no_store_after_it(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with EventLog.create(path, run="open") as log:
        log.append([task_started(1), reply("a"), admitted(), completed(1), task_started(2)])
    site = Site(path)
    assert f"{site.base}/-/store?at=1" in site.page("tasks/1").links
    page = site.page("tasks/2")
    assert "This task is not completed yet." in page.text
    assert not [to for to in page.links if "store?" in to]
    assert "No store after task 2: " in site.page("store?at=2", 404).text
