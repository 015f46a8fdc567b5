from __future__ import annotations

import io
import re
import sqlite3
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from sample_log import SHORT, completed, fill, ref

from discernmem.eventlog import Draft, EventLog, canonical, digest
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, LogError
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import import_
from discernmem.eventlog.verify import verify


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = io.BytesIO()
    with EventLog.create(tmp_path_factory.mktemp("export") / "run.db", run="r") as log:
        fill(log)
        vector = bytes(range(256))
        event = ev.TextEmbedded(
            request="e",
            text=ref(SHORT),
            dimensions=64,
            vector=ev.BlobRef(digest(vector)),
        )
        log.append([Draft(event=event, actor="test", blobs=(vector,))])
        export(log, out)
    return out.getvalue()


def test_an_imported_log_has_the_same_rows_and_exports_to_the_same_bytes(
    exported: bytes, path: Path
) -> None:
    head = import_(io.BytesIO(exported), path).head
    with EventLog.open(path) as log:
        assert verify(log, head=head).ok
        assert log.head() == head
        again = io.BytesIO()
        assert export(log, again) == head
    assert again.getvalue() == exported
    assert sorted(found.name for found in path.parent.iterdir()) == ["run.db", "run.db.head"]


def test_an_imported_log_is_gone_on_with(exported: bytes, path: Path) -> None:
    head = import_(io.BytesIO(exported), path).head
    with EventLog.open(path, write=True) as log:
        log.append([completed(2)], expected=head.position)
        assert verify(log, head=head).ok


def test_an_export_is_canonical_json_lines_that_start_with_the_facts_and_end_with_the_head(
    exported: bytes,
) -> None:
    lines = [orjson.loads(line) for line in exported.splitlines()]
    assert exported == b"".join(canonical(line) + b"\n" for line in lines)
    assert lines[0]["export"] == "discernmem-export/1"
    assert lines[-1]["head"]["position"] == 9
    assert [line["position"] for line in lines if "position" in line] == list(range(1, 10))
    blobs = [line["blob"] for line in lines if "blob" in line]
    assert len(blobs) == len(set(blobs)) == 3


def changed(number: int, **changes: object) -> Callable[[list[bytes]], list[bytes]]:
    """An export with some fields of its ``number``-th event changed."""

    def change(lines: list[bytes]) -> list[bytes]:
        at = [i for i, line in enumerate(lines) if b'"position"' in line][number - 1]
        lines[at] = canonical(orjson.loads(lines[at]) | changes) + b"\n"
        return lines

    return change


BROKEN: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "nothing at all": lambda _: [],
    "cut within a line": lambda lines: [*lines[:-2], lines[-2][:-9]],
    "cut at a line": lambda lines: lines[:-3],
    "without its head": lambda lines: lines[:-1],
    "without its first line": lambda lines: lines[1:],
    "without a blob": lambda lines: [lines[0], *lines[2:]],
    "without an event": lambda lines: [line for line in lines if b"TaskCompleted" not in line],
    "with a line twice": lambda lines: [*lines[:3], *lines[2:]],
    "with lines behind the head": lambda lines: [*lines, lines[1]],
    "with another blob": lambda lines: [line.replace(b"red block", b"RED block") for line in lines],
    "with a changed payload": lambda lines: [line.replace(b"Look", b"Leap") for line in lines],
    "of another run": lambda lines: [lines[0].replace(b'"run":"r"', b'"run":"s"'), *lines[1:]],
    "of another log": lambda lines: [lines[0].replace(b'"log_id":"', b'"log_id":"f'), *lines[1:]],
    "of another kind": lambda lines: [b"{}\n", *lines],
    "with a line that is no object": lambda lines: [*lines[:2], b"[]\n", *lines[2:]],
    "with a line that is no JSON": lambda lines: [*lines[:2], b"x\n", *lines[2:]],
    "with another actor": changed(3, actor="x"),
    "with another hash": changed(3, hash="0" * 64),
    "with blobs that are no object": changed(1, blobs=[]),
    "with blobs it does not cite": changed(3, blobs={"x": "0" * 64}),
    "with a payload that is no object": changed(3, payload=[1]),
    "with an event without a type": changed(3, type=None),
    "with a field that no event has": changed(3, note="x"),
    "with a payload as text": changed(3, payload="{}"),
    "with a hash in capitals": lambda lines: [
        re.sub(rb'"hash":"[^"]*"', lambda found: found[0].upper(), line) if n > 1 else line
        for n, line in enumerate(lines)
    ],
    "with a blob that no event cites": lambda lines: [
        lines[0],
        canonical({"blob": digest(b"x"), "text": "x"}) + b"\n",
        *lines[1:],
    ],
    "with a blob twice": lambda lines: [*lines[:-1], lines[1], lines[-1]],
    "with a text in base64": lambda lines: [
        lines[0],
        canonical({"blob": digest(SHORT.encode()), "base64": b64encode(SHORT.encode()).decode()})
        + b"\n",
        *lines[2:],
    ],
    "with a line in another order": lambda lines: [
        lines[0],
        orjson.dumps(dict(reversed(orjson.loads(lines[1]).items()))) + b"\n",
        *lines[2:],
    ],
    "with a first line without an end": lambda _: [b"{" * 100_000],
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_export_is_refused_and_leaves_nothing(
    exported: bytes, path: Path, how: str
) -> None:
    data = b"".join(BROKEN[how](exported.splitlines(keepends=True)))
    assert data != exported
    with pytest.raises(BadInput, match="export") as raised:
        import_(io.BytesIO(data), path)
    assert "\n" not in str(raised.value)
    assert list(path.parent.iterdir()) == []


def test_an_import_does_not_replace_another_log(exported: bytes, filled: Path) -> None:
    before = filled.read_bytes()
    with pytest.raises(BadInput, match="import it to another path"):
        import_(io.BytesIO(exported), filled)
    assert filled.read_bytes() == before
    assert [found.name for found in filled.parent.iterdir()] == ["run.db"]


def test_a_log_of_newer_code_is_not_imported(
    exported: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ev.EVENT_TYPES, "MemoryAdmitted")
    with pytest.raises(LogError, match=r"export line \d+: unknown event type"):
        import_(io.BytesIO(exported), path)
    assert list(path.parent.iterdir()) == []


def test_a_damaged_log_is_not_exported(filled: Path) -> None:
    with sqlite3.connect(filled, isolation_level=None) as sql:
        sql.execute("drop trigger events_no_update")
        sql.execute("update events set actor = 'x' where position = 3")
    sql.close()
    out = io.BytesIO()
    with EventLog.open(filled) as log, pytest.raises(LogError, match="event 3 is damaged"):
        export(log, out)
    assert b'"head"' not in out.getvalue()


def test_a_payload_whose_bytes_are_not_canonical_is_kept_as_they_are(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other, EventLog.create(path, run="r") as log:
        other.setattr(
            "discernmem.eventlog.records.encode",
            lambda _: b'{"task":"t", "index":1,"score":1.0,"executions_asked":2}',
        )
        log.append([completed(1)])
    out = io.BytesIO()
    with EventLog.open(path) as log:
        export(log, out)
    import_(io.BytesIO(out.getvalue()), path.with_name("copy.db"))
    with EventLog.open(path) as log, EventLog.open(path.with_name("copy.db")) as copy:
        assert list(copy.read()) == list(log.read())
