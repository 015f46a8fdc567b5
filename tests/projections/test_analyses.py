"""The figures of the paper's analyses, counted by hand."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from judging import made, rich_tale
from lively import quick_folder, record

from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.projections.analyses import Ages, Growth, analyse, analyse_log


def admitted(name: str, index: int) -> Recorded:
    event = ev.MemoryAdmitted(
        memory=name,
        role="assistant",
        body=name,
        use_when=(),
        avoid_when=(),
        source_task="q",
        source_execution="x",
    )
    return at(index, event)


def supplied(name: str, index: int) -> Recorded:
    event = ev.MemorySupplied(memory=name, version=1, role="assistant", task="q", similarity=0.5)
    return at(index, event)


def revised(name: str, index: int, repair: str = "m1.v1@q") -> Recorded:
    event = ev.MemoryRevised(
        memory=name, version=2, body="b", repair=repair, round=1, number=1, capability=None
    )
    return at(index, event)


def changed(name: str, index: int, after: Any) -> Recorded:
    event = ev.StateChanged(
        memory=name, version=1, before="provisional", after=after, rule="promotion", evidence=()
    )
    return at(index, event)


def completed(index: int) -> Recorded:
    return at(index, ev.TaskCompleted(index=index, task="q", score=0.0, executions_asked=1))


def started(tasks: int) -> Recorded:
    header = rich_tale().at(1).event
    assert isinstance(header, ev.RunStarted)
    return made(attrs.evolve(header, tasks=tasks), "header")


def at(index: int, event: ev.Event) -> Recorded:
    return made(event, f"{event.stream} {index}")._replace(task_index=index)


def test_a_run_without_a_memory_has_no_shares() -> None:
    found = analyse([started(2), completed(1), completed(2)])
    assert (found.memories, found.injections) == (0, 0)
    assert set(found.states.values()) == {None}
    assert (found.revised, found.used, found.revised_in_injections) == (None, None, None)
    assert (found.top_tenth, found.ages, found.depths) == (None, None, {})


def test_states_are_those_at_the_end() -> None:
    found = analyse(
        [
            started(9),
            *(admitted(f"m{n}", 1) for n in range(1, 5)),
            changed("m1", 2, "active"),
            changed("m2", 2, "active"),
            changed("m2", 3, "inactive"),
        ]
    )
    assert found.states == {"provisional": 0.5, "active": 0.25, "inactive": 0.25}


def test_a_revised_memory_counts_in_injections_before_and_after_its_repair() -> None:
    found = analyse(
        [
            started(9),
            admitted("m1", 1),
            admitted("m2", 1),
            supplied("m1", 2),
            supplied("m2", 2),
            revised("m1", 2),
            supplied("m1", 3),
            revised("m1", 3),
            supplied("m1", 4),
        ]
    )
    assert (found.revised, found.revised_in_injections) == (0.5, 0.75)
    assert found.depths == {2: 1}


def test_an_edit_by_a_person_is_no_repair() -> None:
    found = analyse([started(9), admitted("m1", 1), revised("m1", 2, repair="")])
    assert (found.revised, found.depths) == (0.0, {})


def test_the_most_used_tenth_is_rounded_up_to_whole_memories() -> None:
    eleven = [admitted(f"m{n}", 1) for n in range(1, 12)]
    uses = [supplied(name, 2) for name in ("m3", "m3", "m3", "m7", "m7", "m1", "m2", "m4")]
    found = analyse([started(9), *eleven, *uses])
    assert found.used == pytest.approx(5 / 11, abs=1e-6)
    assert found.top_tenth == 5 / 8


def test_ages_are_fractions_of_the_whole_stream() -> None:
    events = [started(20), admitted("m1", 1), admitted("m2", 10)]
    events += [supplied("m1", 2), supplied("m1", 5), supplied("m2", 12)]
    counts = (0, 0, 1, 1, 1, 0, 0)
    assert analyse(events).ages == Ages(median=0.1, p5=0.055, p95=0.19, counts=counts)


def test_an_injection_in_the_task_after_admission_is_of_the_youngest_of_a_long_stream() -> None:
    ages = analyse([started(700), admitted("m1", 1), supplied("m1", 8), supplied("m1", 9)]).ages
    assert ages is not None
    assert ages.counts == (1, 1, 0, 0, 0, 0, 0)


def test_growth_is_told_after_each_part_of_the_stream_that_was_reached() -> None:
    events = [started(100), admitted("m1", 1), completed(1), supplied("m1", 2), completed(2)]
    events += [admitted("m2", 3), changed("m1", 3, "inactive"), completed(3), completed(4)]
    assert analyse(events).growth == (
        Growth(tasks=2, memories=1, states=(1, 0, 0), used=1.0),
        Growth(tasks=4, memories=2, states=(1, 0, 1), used=0.5),
    )


def test_concentration_runs_from_nothing_to_all_injections_most_used_memories_first() -> None:
    three = [admitted(f"m{n}", 1) for n in range(1, 4)]
    uses = [supplied(name, 2) for name in ("m3", "m3", "m3", "m1")]
    found = analyse([started(9), *three, *uses])
    assert found.concentration == ((0, 0.0), (1, 0.75), (2, 1.0), (3, 1.0))
    assert analyse([started(9), *three]).concentration == ()


def test_the_concentration_of_a_large_store_is_told_at_some_places() -> None:
    many = [admitted(f"m{n}", 1) for n in range(1, 201)]
    found = analyse([started(9), *many, *(supplied(f"m{n}", 2) for n in range(1, 201))])
    assert len(found.concentration) == 51
    assert all(share == pytest.approx(place / 200) for place, share in found.concentration)


def test_a_log_is_analysed_from_the_events_that_count_alone() -> None:
    with quick_folder() as folder, EventLog.open(record(folder, 8, tasks=6)) as log:
        found = analyse_log(log)
        assert found == analyse(log.read())
        assert found.injections == sum(1 for _ in log.read(types=["MemorySupplied"]))
    assert json.loads(json.dumps(found.plain()))["memories"] == found.memories > 0
    assert len(found.growth) == 6
