"""What a run cost, counted in the file and counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from lively import quick_folder, record, rich_seed
from sample_log import completed, draft, fill, reply, task_started

from discernmem.decisions.llm import DECISIONS
from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.projections.ledgers import PURPOSES, ledger
from discernmem.projections.summary import summarise


@pytest.fixture(scope="module")
def log() -> Iterator[EventLog]:
    with quick_folder() as folder, EventLog.open(record(folder, rich_seed())) as opened:
        yield opened


@pytest.fixture(scope="module")
def events(log: EventLog) -> list[Recorded]:
    return list(log.read())


def test_executions_are_those_of_the_summary(log: EventLog, events: list[Recorded]) -> None:
    found = ledger(log)
    rows = summarise(events)
    assert [(each.index, each.asked, each.run, each.saved) for each in found.tasks] == [
        (row.index, row.executions_asked, row.executions_run, row.executions_saved) for row in rows
    ]
    assert found.run == sum(row.executions_run for row in rows)
    assert found.saved == sum(row.executions_saved for row in rows) > 0
    assert found.asked == sum(row.executions_asked for row in rows)
    assert sum(found.fallbacks.values()) == sum(row.fallbacks for row in rows)


def test_calls_and_tokens_are_told_by_purpose(log: EventLog, events: list[Recorded]) -> None:
    calls: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for recorded in events:
        if isinstance(recorded.event, ev.ModelReplied):
            calls[recorded.event.purpose] += 1
            read[recorded.event.purpose] += recorded.event.prompt_tokens
    found = ledger(log)
    assert {each.name: each.calls for each in found.purposes} == calls
    assert {each.name: each.prompt_tokens for each in found.purposes} == read
    assert found.purposes[0].name == "role"
    assert [each.name for each in found.purposes[1:]] == sorted(calls.keys() - {"role"})
    assert found.total.calls == calls.total()


def test_decisions_are_counted_by_their_events(log: EventLog, events: list[Recorded]) -> None:
    asked = Counter(r.type for r in events if hasattr(r.event, "fallback"))
    fell = Counter(r.type for r in events if getattr(r.event, "fallback", ""))
    found = ledger(log)
    assert found.decisions == asked
    assert found.fallbacks == fell


def test_an_open_task_has_asked_for_nothing_yet() -> None:
    with quick_folder() as folder, EventLog.create(folder / "run.db", run="r") as log:
        fill(log)
        log.append([task_started(3), reply("d" * 64, 3)])
        found = ledger(log)
        assert [(each.index, each.asked) for each in found.tasks][-1] == (3, 0)
        before = found.asked
        log.append([completed(3)])
        assert ledger(log).asked == before + 2


def test_what_did_not_begin_cost_nothing() -> None:
    with quick_folder() as folder, EventLog.create(folder / "run.db", run="r") as log:
        found = ledger(log)
    assert found.plain() == {
        "executions": {"asked": 0, "run": 0, "saved": 0},
        "calls": [{"name": "all", "calls": 0, "prompt_tokens": 0, "completion_tokens": 0}],
        "decisions": {},
        "fallbacks": {},
    }


def test_every_decision_is_of_a_purpose() -> None:
    deciding = {name for name, kind in ev.EVENT_TYPES.items() if "fallback" in kind.__annotations__}
    assert set(PURPOSES) == deciding
    assert set(PURPOSES.values()) == set(DECISIONS)


def test_fallbacks_are_counted_by_decision() -> None:
    def judged(task: int, fallback: str) -> ev.IdentityJudged:
        return ev.IdentityJudged(
            index=task,
            task=f"t{task}",
            role="actor",
            candidates=(),
            matched="none",
            reason="",
            fallback=fallback,
            replies=(),
            evidence=(),
        )

    with quick_folder() as folder, EventLog.create(folder / "run.db", run="r") as log:
        log.append([draft(judged(1, "")), draft(judged(2, "no JSON"), 2), draft(judged(3, ""), 3)])
        found = ledger(log)
    assert (found.decisions, found.fallbacks) == ({"IdentityJudged": 3}, {"IdentityJudged": 1})
