"""A copy of a log's beginning is a log of its own, and proves what it is a copy of."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from sample_log import completed, draft
from tampering import tamper

from discernmem.eventlog import Draft, EventLog, chain
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, LogError
from discernmem.eventlog.export import export
from discernmem.eventlog.forking import copy_prefix
from discernmem.eventlog.importing import import_
from discernmem.eventlog.verify import verify, verify_file


def forked(origin: EventLog, position: int, changes: dict[str, Any]) -> Draft:
    event = ev.RunForked(
        run=origin.run,
        config={},
        host={},
        benchmark={},
        model={},
        embedder={},
        stream_digest="",
        tasks=2,
        decision_version="1",
        software={},
        origin=origin.log_id,
        position=position,
        hash=origin.head(position).hash,
        path="run.db",
        changed={},
    )
    return draft(attrs.evolve(event, **changes), None)


def fork(origin: Path, position: int, path: Path, changes: dict[str, Any] | None = None) -> Path:
    with (
        EventLog.open(origin) as log,
        copy_prefix(log, position, path, forked(log, position, changes or {})),
    ):
        return path


@pytest.mark.parametrize("position", [0, 1, 5, 8])
def test_a_copy_has_the_events_of_its_origin_and_a_chain_of_its_own(
    filled: Path, tmp_path: Path, clock: Callable[[], datetime], position: int
) -> None:
    path = tmp_path / "fork.db"
    with EventLog.open(filled) as origin, copy_prefix(origin, position, path, clock=clock) as copy:
        assert (copy.run, copy.head().position) == (origin.run, position)
        assert copy.log_id != origin.log_id
        for old, new in zip(origin.read(until=position), copy.read(), strict=True):
            assert old._replace(hash="") == new._replace(hash="")
            assert old.hash != new.hash
        copy.append([completed(7)])
        assert verify(copy).ok
    assert {p.name for p in tmp_path.iterdir()} == {"run.db", "fork.db", "fork.db.head"}


def test_a_fork_is_proven_against_the_chain_of_its_origin(filled: Path, tmp_path: Path) -> None:
    path = fork(filled, 5, tmp_path / "fork.db")
    assert verify_file(path).ok
    again = fork(path, 6, tmp_path / "again.db")
    with EventLog.open(again, write=True) as log:
        log.append([completed(7)])
    report = verify_file(again)
    assert report.ok
    assert report.checked == 8


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"position": 4}, "forked at position 4, is behind 5"),
        ({"hash": "0" * 64}, "the 5 events before are not those of"),
        ({"origin": "0" * 32}, "the 5 events before are not those of 0000"),
    ],
)
def test_a_fork_that_is_not_of_its_origin_is_named_and_not_imported(
    filled: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = fork(filled, 5, tmp_path / "fork.db", changes)
    (problem,) = verify_file(path).problems
    assert (problem.position, problem.kind) == (6, "fork")
    assert words in problem.message
    out = io.BytesIO()
    with EventLog.open(path) as log:
        export(log, out)
    with pytest.raises(BadInput, match=words):
        import_(io.BytesIO(out.getvalue()), tmp_path / "copy.db")


def test_a_prefix_that_was_made_up_is_named_though_its_chain_holds(
    filled: Path, tmp_path: Path
) -> None:
    path = fork(filled, 5, tmp_path / "fork.db")
    with EventLog.open(path) as log:
        prev = chain.genesis(log.log_id)
        statements = ["update events set recorded_at = '2020' where position = 2"]
        for r in log.read():
            header = [*r[:7], "2020" if r.position == 2 else r.recorded_at, *r[8:11]]
            links = log.rows(
                "select name, lower(hex(sha256)) from event_blobs where position = ?", (r.position,)
            )
            hash_ = chain.link(prev, tuple(header), r.payload, chain.links(links))
            statements.append(
                f"update events set prev_hash = x'{prev.hex()}', hash = x'{hash_.hex()}'"
                f" where position = {r.position}"
            )
            prev = hash_
    tamper(path, *statements)
    assert [(p.position, p.kind) for p in verify_file(path).problems] == [(6, "fork")]


def test_a_copy_of_what_is_damaged_is_refused_and_leaves_nothing(
    filled: Path, tmp_path: Path
) -> None:
    tamper(filled, "update events set actor = 'x' where position = 4")
    folder = tmp_path / "forks"
    folder.mkdir()
    with EventLog.open(filled) as origin:
        with pytest.raises(LogError, match="event 4 is damaged"):
            copy_prefix(origin, 5, folder / "fork.db")
        assert list(folder.iterdir()) == []
        copy_prefix(origin, 3, folder / "fork.db").close()
    assert verify_file(folder / "fork.db").ok


def test_a_copy_goes_no_further_than_its_origin_and_replaces_nothing(
    filled: Path, tmp_path: Path
) -> None:
    with EventLog.open(filled) as origin:
        with pytest.raises(BadInput, match="no event at position 9"):
            copy_prefix(origin, 9, tmp_path / "fork.db")
        before = filled.read_bytes()
        with pytest.raises(BadInput, match="exists"):
            copy_prefix(origin, 5, filled)
    assert filled.read_bytes() == before
    assert not (tmp_path / "fork.db").exists()
