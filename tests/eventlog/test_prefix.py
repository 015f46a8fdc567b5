"""What is before the damage of a log can be saved, and the log says up to where."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_log import completed, task_started

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import LogError
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import import_
from discernmem.eventlog.verify import verify_file

TASKS = 150
PAGE = 4096


@pytest.fixture
def long(path: Path) -> Path:
    """A log of 300 events and 150 blobs, on about sixty pages."""
    with EventLog.create(path, run="r") as log:
        for index in range(1, TASKS + 1):
            text = " ".join(str(index * number % 9973) for number in range(120))
            log.append([task_started(index, text), completed(index)])
    return path


def saved(path: Path, to: Path) -> int:
    """Export what the log says can be saved, and import it; how many events there are."""
    with EventLog.open(path, check=False) as log:
        with pytest.raises(LogError) as told:
            export(log, io.BytesIO())
        (until,) = map(int, re.findall(r"export --until (\d+)`", str(told.value)))
        assert f"event {until + 1} is damaged" in str(told.value)
        out = io.BytesIO()
        export(log, out, until=until)
    out.seek(0)
    import_(out, to)
    assert verify_file(to).ok
    return until


def cut(data: bytearray) -> None:
    del data[len(data) * 2 // 3 :]


def blank(data: bytearray) -> None:
    at = data.index(b'"index":100,') // PAGE * PAGE
    data[at : at + PAGE] = bytes(PAGE)


@pytest.mark.parametrize(("damage", "least"), [(cut, 100), (blank, 180)])
def test_what_is_before_the_damage_is_saved(
    long: Path, tmp_path: Path, damage: Callable[[bytearray], None], least: int
) -> None:
    data = bytearray(long.read_bytes())
    damage(data)
    long.write_bytes(data)
    assert not verify_file(long).ok
    assert least < saved(long, tmp_path / "saved.db") < 2 * TASKS


def test_without_the_index_of_the_contents_all_of_them_are_saved(long: Path) -> None:
    """Contents are found by their digests, which no order of writing keeps together."""
    with EventLog.open(long) as log:
        out = io.BytesIO()
        export(log, out)
        ((root,),) = log.rows(
            "select rootpage from sqlite_master where name = 'sqlite_autoindex_blobs_1'"
        )
    data = bytearray(long.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = bytes(PAGE)
    long.write_bytes(data)
    assert not verify_file(long).ok
    with EventLog.open(long, check=False) as log:
        again = io.BytesIO()
        export(log, again)
    assert again.getvalue() == out.getvalue()


def test_where_nothing_is_before_the_damage_it_says_so(long: Path) -> None:
    with EventLog.open(long) as log:
        ((root,),) = log.rows("select rootpage from sqlite_master where name = 'events'")
    data = bytearray(long.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = bytes(PAGE)
    long.write_bytes(data)
    with (
        EventLog.open(long, check=False) as log,
        pytest.raises(LogError, match=r"event 1 is damaged.*nothing is before it: restore a copy"),
    ):
        export(log, io.BytesIO())


def test_without_the_contents_nor_their_index_what_cites_none_of_the_lost_is_saved(
    long: Path, tmp_path: Path
) -> None:
    with EventLog.open(long) as log:
        roots = log.rows(
            "select rootpage from sqlite_master"
            " where name in ('sqlite_autoindex_blobs_1', 'blobs') order by name"
        )
        ((table,), (index,)) = roots
    data = bytearray(long.read_bytes())
    data[(index - 1) * PAGE : index * PAGE] = bytes(PAGE)
    # The table is read from its beginning to the leaf that is gone.
    leaves = [int.from_bytes(data[at : at + 4], "big") for at in cells((table - 1) * PAGE, data)]
    gone = leaves[len(leaves) // 2]
    data[(gone - 1) * PAGE : gone * PAGE] = bytes(PAGE)
    long.write_bytes(data)
    assert 0 < saved(long, tmp_path / "saved.db") < 2 * TASKS


def cells(page: int, data: bytearray) -> list[int]:
    """Where the cells of an interior page of a b-tree begin; each begins with a page number."""
    count = int.from_bytes(data[page + 3 : page + 5], "big")
    pointers = range(page + 12, page + 12 + 2 * count, 2)
    return [page + int.from_bytes(data[at : at + 2], "big") for at in pointers]


def test_a_cut_log_is_examined_from_its_beginning(long: Path) -> None:
    data = bytearray(long.read_bytes())
    cut(data)
    long.write_bytes(data)
    report = verify_file(long)
    assert report.checked > 100
    assert any("the event cannot be read" in problem.message for problem in report.problems)
