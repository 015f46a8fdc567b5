"""Users of sqlite-utils ask a log like any file; what they would change is refused or named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database
from sqlite_utils.db import Table

from discernmem.eventlog.verify import verify_file


def test_every_view_answers(filled: Path) -> None:
    with closing(Database(filled)) as log:
        assert "memories" in log.view_names()
        rows = list(log.view("memories").rows)
        assert [(row["id"], row["state"]) for row in rows] == [("m1", "active")]
        found = log.query("select task_index, count(*) as n from events group by 1 order by 1")
        assert [row["n"] for row in found] == [1, 4, 3]
    assert verify_file(filled).ok


CHANGES: dict[str, Callable[[Table, dict[str, Any]], object]] = {
    "upsert": lambda events, row: events.upsert(row, pk="position"),
    "replace": lambda events, row: events.insert(row, replace=True),
    "update": lambda events, row: events.update(1, {"actor": row["actor"]}),
    "delete": lambda events, _: events.delete(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_event_is_changed_through_it(filled: Path, change: str) -> None:
    with closing(Database(filled)) as log:
        events = log.table("events")
        before = list(events.rows)
        with pytest.raises(sqlite3.IntegrityError):
            CHANGES[change](events, before[0] | {"actor": "me"})
        assert list(events.rows) == before
    assert verify_file(filled).ok


def test_a_table_it_transformed_has_lost_its_guards_and_is_named(filled: Path) -> None:
    with closing(Database(filled)) as log:
        log.table("blobs").transform(rename={"codec": "packed"})
    problems = [p for p in verify_file(filled).problems if p.kind == "schema"]
    assert {"trigger 'blobs_no_update' is missing", "trigger 'blobs_no_delete' is missing"} <= {
        problem.message for problem in problems
    }
