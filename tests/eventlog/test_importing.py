"""An import makes a log, extends the same log, or changes nothing; whatever happens meanwhile."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lively import quick_folder, record
from sample_log import completed, fill
from tampering import Tampering, opened

from discernmem.eventlog import EventLog, Head, files, importing
from discernmem.eventlog.errors import BadInput, Infrastructure, LogBusy, LogError
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import Imported, import_
from discernmem.eventlog.verify import verify_file


def exported(path: Path, until: int | None = None) -> bytes:
    out = io.BytesIO()
    with EventLog.open(path) as log:
        export(log, out, until=until)
    return out.getvalue()


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder and when it was written."""
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


@attrs.frozen
class Run:
    """A real run's log, and its export."""

    path: Path
    head: Head
    whole: bytes

    def until(self, position: int) -> bytes:
        return exported(self.path, position)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = record(tmp_path_factory.mktemp("importing"), 3, tasks=3)
    with EventLog.open(path) as log:
        head = log.head()
    return Run(path, head, exported(path))


# -- going together ----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 112), max_size=4))
@settings(max_examples=12, deadline=None)
def test_a_log_imported_in_parts_is_the_log_imported_at_once(run: Run, parts: list[int]) -> None:
    ends = sorted(min(part, run.head.position) for part in parts)
    with quick_folder() as folder:
        path, before = folder / "run.db", 0
        for end in ends:
            imported = import_(io.BytesIO(run.until(end)), path)
            assert (imported.head.position, imported.added) == (end, end - before)
            assert exported(path) == run.until(end)
            before = end
        added = run.head.position - before
        assert import_(io.BytesIO(run.whole), path) == Imported(run.head, added)
        assert exported(path) == run.whole
        assert verify_file(path, head=run.head).ok


def test_importing_twice_touches_nothing(run: Run, path: Path) -> None:
    import_(io.BytesIO(run.whole), path)
    before = state(path.parent)
    assert import_(io.BytesIO(run.whole), path) == Imported(run.head, 0)
    assert state(path.parent) == before


def test_the_head_beside_a_log_goes_with_it(run: Run, path: Path) -> None:
    for end in (9, run.head.position):
        head = import_(io.BytesIO(run.until(end)), path).head
        assert path.with_name("run.db.head").read_text() == head.to_text()


def test_an_extended_log_is_gone_on_with(run: Run, path: Path) -> None:
    import_(io.BytesIO(run.until(20)), path)
    import_(io.BytesIO(run.whole), path)
    with EventLog.open(path, write=True) as log:
        log.append([completed(99)], expected=run.head.position)
    assert verify_file(path, head=run.head).ok


def test_a_reader_beside_sees_the_old_log_and_then_the_new_one(run: Run, path: Path) -> None:
    import_(io.BytesIO(run.until(20)), path)
    with EventLog.open(path) as reader:
        assert len(list(reader.read())) == 20
        import_(io.BytesIO(run.whole), path)
        assert reader.head() == run.head


# -- not going together ------------------------------------------------------------------------


def refused(export: bytes, path: Path, words: str) -> None:
    """An import that is refused in one line and changes nothing."""
    before = state(path.parent)
    with pytest.raises(BadInput, match=words) as raised:
        import_(io.BytesIO(export), path)
    assert "\n" not in str(raised.value)
    assert state(path.parent) == before


def test_an_older_export_is_refused_with_both_positions(run: Run, path: Path) -> None:
    import_(io.BytesIO(run.until(30)), path)
    refused(run.until(20), path, "goes to position 30, the export is older and ends at 20")


def test_another_log_is_refused_with_both_ids(run: Run, path: Path) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
        log_id = log.log_id
    other = run.head.origin.rpartition("/")[2]
    refused(run.whole, path, f"is log {log_id} of run r, the export is of log {other} of run")


def test_another_history_is_refused_with_its_position_and_both_hashes(
    filled: Path, tmp_path: Path
) -> None:
    older = exported(filled)
    with EventLog.open(filled, write=True) as log:
        log.append([completed(3)])
    newer = exported(filled)
    path = tmp_path / "there" / "run.db"
    path.parent.mkdir()
    import_(io.BytesIO(older), path)
    with EventLog.open(path, write=True) as log:
        there = log.append([completed(3, 0.25), completed(4)])[0]
    here = orjson.loads(newer.splitlines()[-2])
    words = f"event 9 has hash {there.hash[:12]}, in the export it has {here['hash'][:12]}"
    refused(newer, path, words)


def test_a_log_that_is_being_written_is_busy(run: Run, path: Path) -> None:
    with EventLog.create(path, run="r"), pytest.raises(LogBusy, match="is writing it"):
        import_(io.BytesIO(run.whole), path)


def test_a_file_that_is_no_log_is_left_alone(run: Run, path: Path) -> None:
    path.write_text("dear diary")
    refused(run.whole, path, "not an SQLite file")


def test_every_changed_line_is_refused_where_it_stands(run: Run) -> None:
    """A byte more, less or other in each line; for a new log and for one to extend."""
    lines = run.until(16).splitlines(keepends=True)
    dice = random.Random(2)
    with quick_folder() as folder:
        path, extended = folder / "new" / "run.db", folder / "extended" / "run.db"
        path.parent.mkdir()
        extended.parent.mkdir()
        import_(io.BytesIO(run.until(6)), extended)
        before = state(extended.parent)
        for number, line in enumerate(lines):
            at = dice.randrange(len(line))
            for changed in (
                line[:at] + bytes([line[at] ^ 1 << dice.randrange(8)]) + line[at + 1 :],
                line[:at] + line[at + 1 :],
                line[:at] + b" " + line[at:],
                b"",
                line + line,
            ):
                broken = b"".join([*lines[:number], changed, *lines[number + 1 :]])
                with pytest.raises(BadInput) as raised:
                    import_(io.BytesIO(broken), dice.choice([path, extended]))
                assert "\n" not in str(raised.value)
            assert list(path.parent.iterdir()) == []
            assert state(extended.parent) == before


FORGED: dict[str, Callable[[Tampering], object]] = {
    "a cause that is not there": lambda t: t.sql.execute(
        "update events set causation_id = '00' where position = 12"
    ),
    "another run": lambda t: t.sql.execute(
        "update events set correlation_id = 'x' where position = 12"
    ),
    "an id of its own": lambda t: t.sql.execute(
        "update events set event_id = 'x' where position = 12"
    ),
    "a version left out": lambda t: t.sql.execute(
        "update events set stream_version = 99 where position = 12"
    ),
    "a stream of another": lambda t: t.sql.execute(
        "update events set stream_id = 'task:99' where position = 12"
    ),
    "no event that is known": lambda t: t.sql.execute(
        "update events set type = 'Dreamt' where position = 12"
    ),
}


@pytest.mark.parametrize("how", FORGED)
@pytest.mark.parametrize("begun", [0, 9])
def test_a_log_that_was_made_up_is_refused_though_its_chain_holds(
    run: Run, tmp_path: Path, how: str, begun: int
) -> None:
    """What `verify` would find, `import_` finds."""
    forged = tmp_path / "forged.db"
    import_(io.BytesIO(run.whole), forged)
    with opened(forged) as sql:
        tampering = Tampering(sql, random.Random(0))
        FORGED[how](tampering)
        tampering.chain_anew(12)
    assert not verify_file(forged).ok
    out = io.BytesIO()
    with EventLog.open(forged, check=False) as log:
        export(log, out)
    path = tmp_path / "new" / "run.db"
    path.parent.mkdir()
    if begun:
        import_(io.BytesIO(run.until(begun)), path)
    refused(out.getvalue(), path, r"^export line \d+: ")


def test_an_event_of_newer_code_is_told_from_a_changed_one(
    run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "EventCheck", Unknowing)
    with pytest.raises(LogError, match=r"export line \d+: unknown event type"):
        import_(io.BytesIO(run.whole), path)
    assert list(path.parent.iterdir()) == []


class Unknowing(importing.EventCheck):
    def check(self, *_: object) -> list[tuple[str, str]]:
        return [("payload", "unknown event type 'Dreamt'")]


# -- stopped in the middle ---------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_log(
    run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_(io.BytesIO(run.until(20)), path)
    before = state(path.parent)
    connect = files.connect_writing

    def small(target: Path) -> object:
        connection = connect(target)
        ((pages,),) = connection.execute("pragma page_count").fetchall()
        connection.execute(f"pragma max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr(files, "connect_writing", small)
    with pytest.raises(Infrastructure, match="disk is full"):
        import_(io.BytesIO(run.whole), path)
    monkeypatch.undo()
    assert state(path.parent) == before
    assert import_(io.BytesIO(run.whole), path).head == run.head


IMPORT = """
import sys
from discernmem.eventlog.exported import open_export
from discernmem.eventlog.importing import import_
from discernmem.eventlog import copying

copying._BATCH = 1
with open_export(sys.argv[1]) as source:
    print("begin", flush=True)
    import_(source, sys.argv[2])
"""


@pytest.mark.parametrize("begun", [0, 9])
def test_a_killed_import_leaves_no_log_or_the_old_one(run: Run, tmp_path: Path, begun: int) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(run.whole)
    path = tmp_path / "new" / "run.db"
    path.parent.mkdir()
    if begun:
        import_(io.BytesIO(run.until(begun)), path)
    dice = random.Random(4)
    stopped = 0
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", IMPORT, str(whole), str(path)],
            stdout=subprocess.PIPE,
            env=os.environ,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.random() * 0.03)
            process.kill()
        if path.exists():
            with EventLog.open(path) as log:
                end = log.head().position
            assert verify_file(path).ok
            assert end in {begun, run.head.position}
            stopped += end == begun
        else:
            assert not begun
            stopped += 1
    assert stopped
    assert import_(io.BytesIO(run.whole), path).head == run.head
    assert exported(path) == run.whole
    assert {p.name for p in path.parent.iterdir()} == {"run.db", "run.db.head"}
