"""The views answer, without our code, what the log says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from sample_log import LONG, SHORT, admitted, changed, draft, fill, ref, reply, task_started

from discernmem.eventlog import Draft, EventLog
from discernmem.eventlog import events as ev

M = {"memory": "m1", "version": 1}


def life(log: EventLog) -> None:
    """One memory: admitted, used with harm, repaired, and one that is only admitted."""
    log.append([task_started(1), admitted(), admitted("m2")])
    log.append([task_started(2), supplied("t2"), supplied("t9")])
    (effect,) = log.append([measured("t2")])
    (label,) = log.append([attributed("t2", effect.event_id)])
    log.append([changed(label.event_id, effect.event_id), retired(label.event_id)])
    (start,) = log.append([draft(REPAIR, 2, label.event_id)])
    log.append([draft(CANDIDATE, 2, start.event_id), draft(SECOND, 2, start.event_id)])
    log.append([draft(JUDGED, 2, start.event_id), draft(REVISED, 2), draft(ENDED, 2)])
    log.append([reply("long", 2, None), reply("blob", 2, "inline")])
    log.append([draft(OVERRIDE, None)])


def supplied(task: str) -> Draft:
    return draft(ev.MemorySupplied(**M, role="actor", task=task, similarity=0.5), 2)


def measured(task: str) -> Draft:
    event = ev.EffectMeasured(
        **M,
        task=task,
        origin="reuse",
        score_with=0.0,
        score_without=1.0,
        effect=-1.0,
        sign="negative",
        changed=True,
        execution_with="x",
        execution_without="y",
        evidence=(),
    )
    return draft(event, 2)


def attributed(task: str, cause: str) -> Draft:
    return draft(ev.UseAttributed(**M, task=task, label="CONTENT", reason="in scope"), 2, cause)


def retired(cause: str) -> Draft:
    event = ev.StateChanged(
        **M, before="active", after="inactive", rule="failed repair", evidence=()
    )
    return draft(event, 2, cause)


REPAIR = ev.RepairStarted(
    **M,
    repair="r1",
    kind="reuse",
    trigger="t2",
    retention=(),
    related=(),
    calibration=(),
    skipped=(),
    evidence=(),
)
PROPOSAL = {
    "repair": "r1",
    "round": 1,
    "operation": "REPLACE",
    "anchor": "Look",
    "edit": "Listen",
    "cited": (),
    "correction": "listens first",
    "body": "Listen before moving.",
    "problem": "",
}
CANDIDATE = ev.CandidateProposed(**M, number=1, **PROPOSAL)
SECOND = ev.CandidateProposed(**M, number=2, **(PROPOSAL | {"problem": "no anchor"}))
JUDGED = ev.CandidateJudged(
    **M,
    repair="r1",
    round=1,
    number=1,
    comparisons=(),
    failures=0,
    parent_failures=1,
    accepted=True,
    improving=True,
    trigger_gain=1.0,
    worst_margin=None,
    distance=1,
    rejected_by="",
    reason="better",
    evidence=(),
)
REVISED = ev.MemoryRevised(
    memory="m1",
    version=2,
    body="Listen before moving.",
    repair="r1",
    round=1,
    number=1,
    capability=None,
)
OVERRIDE = ev.MemoryOverridden(
    memory="m1",
    version=2,
    body="d1",
    action="add-avoid",
    kind="avoid_when",
    text="it rains",
    reason="it slips",
    by="ada",
)
ENDED = ev.RepairEnded(**M, repair="r1", outcome="committed", rounds=1)


@pytest.fixture(scope="module")
def sql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("views") / "run.db"
    with EventLog.create(path, run="r") as log:
        life(log)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "select id, owner, state, version, body, source_task, admitted_at from memories",
            [
                ("m1", "actor", "provisional", 2, "Listen before moving.", "t1", 2),
                ("m2", "actor", "provisional", 1, "Look before moving.", "t1", 3),
            ],
        ),
        (
            "select memory, version, body, repair from versions",
            [
                ("m1", 1, "Look before moving.", None),
                ("m2", 1, "Look before moving.", None),
                ("m1", 2, "Listen before moving.", "r1"),
            ],
        ),
        (
            "select memory, version, role, task, effect, sign, label from uses",
            [
                ("m1", 1, "actor", "t2", -1.0, "negative", "CONTENT"),
                ("m1", 1, "actor", "t9", None, None, None),
            ],
        ),
        (
            "select memory, task, origin, score_with, score_without, effect, changed from effects",
            [("m1", "t2", "reuse", 0.0, 1.0, -1.0, 1)],
        ),
        (
            "select memory, before, after, rule from transitions",
            [
                ("m1", "provisional", "active", "promotion"),
                ("m1", "active", "inactive", "failed repair"),
            ],
        ),
        (
            "select repair, memory, kind, trigger_task, outcome, rounds from repairs",
            [("r1", "m1", "reuse", "t2", "committed", 1)],
        ),
        (
            "select repair, round, number, operation, problem, accepted, reason from candidates",
            [
                ("r1", 1, 1, "REPLACE", "", 1, "better"),
                ("r1", 1, 2, "REPLACE", "no anchor", None, None),
            ],
        ),
        (
            "select memory, version, action, kind, text, reason, by from overrides",
            [("m1", 2, "add-avoid", "avoid_when", "it rains", "it slips", "ada")],
        ),
        (
            "select request, purpose, role, text, text_sha256 is null, finish from model_calls",
            [
                ("long", "role", "actor", SHORT, 0, "stop"),
                ("blob", "role", "actor", "inline", 1, "stop"),
            ],
        ),
        (
            "select position, cause_position, relation from causes where position = 9",
            [(9, 8, "cause"), (9, 7, "evidence")],
        ),
    ],
)
def test_a_view_answers(
    sql: sqlite3.Connection, question: str, answer: list[tuple[object, ...]]
) -> None:
    assert sql.execute(question).fetchall() == answer


def test_the_state_of_a_memory_follows_its_transitions(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as sql:
        assert sql.execute("select id, state from memories").fetchall() == [("m1", "active")]


def test_a_compressed_text_is_not_shown_but_named(log: EventLog) -> None:
    fill(log)
    asked = reply("c", 2, None).event
    assert isinstance(asked, ev.ModelReplied)

    log.append([draft(attrs.evolve(asked, text_blob=ref(LONG)), 2, None, LONG)])
    rows = log.rows("select text, text_sha256 from model_calls where request = 'c'")
    assert rows == [(None, ref(LONG))]


def test_every_view_can_be_asked_of_an_empty_log(log: EventLog) -> None:
    names = log.rows("select name from sqlite_master where type = 'view'")
    assert len(names) == 10
    for (name,) in names:
        assert log.rows(f"select * from {name}") == []
