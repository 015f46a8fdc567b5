"""Exports as files: made whole or not at all, read whatever their name, standing for their head."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from tampering import tamper

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import BadInput, LogError
from discernmem.eventlog.export import export, export_file
from discernmem.eventlog.exported import head_from, open_export
from discernmem.eventlog.importing import import_
from discernmem.eventlog.verify import verify_file


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_an_export_to_a_file_is_the_same_each_time_and_comes_back(
    filled: Path, tmp_path: Path, name: str
) -> None:
    path, again = tmp_path / name, tmp_path / "again" / name
    again.parent.mkdir()
    with EventLog.open(filled) as log:
        out = io.BytesIO()
        head = export(log, out)
        assert export_file(log, path) == export_file(log, again) == head
    assert path.read_bytes() == again.read_bytes()
    with open_export(path) as source:
        assert source.read() == out.getvalue()
    with open_export(path) as source:
        assert import_(source, tmp_path / "copy.db").head == head
    assert sorted(p.name for p in again.parent.iterdir()) == [name]


def test_the_name_of_an_export_says_nothing_about_its_packing(filled: Path, tmp_path: Path) -> None:
    packed, plain = tmp_path / "run.jsonl.gz", tmp_path / "run.jsonl"
    with EventLog.open(filled) as log:
        export_file(log, packed)
        export_file(log, plain)
    packed.rename(tmp_path / "a")
    plain.rename(tmp_path / "b.gz")
    assert head_from(tmp_path / "a") == head_from(tmp_path / "b.gz")


def test_an_export_replaces_nothing(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    with EventLog.open(filled) as log, pytest.raises(BadInput, match="exists"):
        export_file(log, path)
    assert path.read_text() == "mine"
    with EventLog.open(filled) as log, pytest.raises(BadInput, match="choose a folder"):
        export_file(log, tmp_path / "nowhere" / "run.jsonl")


def test_an_export_of_a_damaged_log_leaves_nothing(filled: Path, tmp_path: Path) -> None:
    tamper(filled, "update events set actor = 'x' where position = 5")
    folder = tmp_path / "out"
    folder.mkdir()
    with EventLog.open(filled) as log, pytest.raises(LogError, match="event 5 is damaged"):
        export_file(log, folder / "run.jsonl")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        "update events set payload = 'x' where position = 6",
        "delete from events where position = 6",
        "delete from event_blobs where position = 6",
        "update blobs set content = x'00' where id = 2 and 0",
        "update events set hash = zeroblob(32) where position > 5",
    ],
)
def test_what_is_before_the_damage_is_exported_with_the_head_it_had(
    filled: Path, tmp_path: Path, damage: str
) -> None:
    with EventLog.open(filled) as log:
        kept = log.head(5)
    tamper(filled, damage)
    out = io.BytesIO()
    with EventLog.open(filled, check=False) as log:
        assert export(log, out, until=5) == kept
    imported = import_(io.BytesIO(out.getvalue()), tmp_path / "saved.db")
    assert imported.head == kept
    assert verify_file(tmp_path / "saved.db", head=kept).ok


@pytest.mark.parametrize("until", [-1, 9])
def test_a_log_is_exported_only_as_far_as_it_goes(filled: Path, until: int) -> None:
    with EventLog.open(filled) as log, pytest.raises(BadInput, match=f"no event at .*{until}"):
        export(log, io.BytesIO(), until=until)


# -- heads -------------------------------------------------------------------------------------


def test_a_head_is_read_from_its_file_and_from_an_export(filled: Path, tmp_path: Path) -> None:
    with EventLog.open(filled) as log:
        (tmp_path / "head").write_text(log.head(4).to_text())
        export_file(log, tmp_path / "run.jsonl", until=4)
        export_file(log, tmp_path / "run.jsonl.gz", until=4)
        export_file(log, tmp_path / "empty.jsonl", until=0)
        heads = [head_from(tmp_path / name) for name in ("head", "run.jsonl", "run.jsonl.gz")]
        assert heads == [log.head(4)] * 3
        assert head_from(tmp_path / "empty.jsonl") == log.head(0)
    assert verify_file(filled, head=heads[1]).ok


def test_a_file_that_stands_for_no_head_is_refused(filled: Path, tmp_path: Path) -> None:
    with EventLog.open(filled) as log:
        export_file(log, tmp_path / "run.jsonl")
    whole = (tmp_path / "run.jsonl").read_bytes()
    packed = gzip.compress(whole)
    for number, data in enumerate(
        [
            b"",
            b"\n\n\n",
            b"\xff\xfe",
            filled.read_bytes(),
            whole[:-1],
            whole[: whole.rindex(b'{"head"')],
            whole.replace(b'"position":8}}', b'"position":"8"}}'),
            whole.replace(b'"position":8}}', b'"position":-8}}'),
            whole + b"\n",
            packed[:-9],
            packed[:200] + bytes([packed[200] ^ 1]) + packed[201:],
            gzip.compress(b"no head", mtime=0),
        ]
    ):
        path = tmp_path / f"{number}"
        path.write_bytes(data)
        with pytest.raises(BadInput, match=f"{path}: ") as raised:
            head_from(path)
        assert "\n" not in str(raised.value)
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(BadInput, match="not readable"):
            head_from(path)


@pytest.mark.parametrize("cut", [True, False])
def test_a_broken_package_is_refused_as_a_broken_export(
    filled: Path, tmp_path: Path, cut: bool
) -> None:
    path = tmp_path / "run.jsonl.gz"
    with EventLog.open(filled) as log:
        export_file(log, path)
    data = bytearray(path.read_bytes())
    if cut:
        del data[-20:]
    else:
        data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with open_export(path) as source, pytest.raises(BadInput, match=r"^export line \d+: "):
        import_(source, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
