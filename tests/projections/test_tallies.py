"""The numbers of memories: the same by the SQL views, by a plain fold and by columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lively import quick_folder, record, rich_seed
from scenario import play
from turned import SCENARIOS, stepped_into

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput
from discernmem.projections.known import require_memory
from discernmem.projections.state import fold
from discernmem.projections.tallies import tallies, tally_of
from discernmem.replayers.demo import open_recorded


@contextmanager
def opened(name: str) -> Iterator[EventLog]:
    if name == "stepped into":
        with stepped_into() as (log, _):
            yield log
        return
    with quick_folder() as folder:
        path: Path
        if name == "example":
            path = open_recorded(folder)
        elif name == "lively":
            path = record(folder, rich_seed())
        else:
            path = play(SCENARIOS[name], folder / "run").path
        with EventLog.open(path) as log:
            yield log


LOGS = ("example", "lively", "stepped into", "committed", "failed", "kept", "revival")
counts = pytest.mark.parametrize("name", LOGS)


@counts
def test_tallies_are_those_of_a_plain_fold(name: str) -> None:
    with opened(name) as log:
        recorded = list(log.read())
        state = fold(recorded)
        memories = state.store.ordered()
        for counted, memory in zip(tallies(log), memories, strict=True):
            effects = state.evidence.of_all_versions(memory.id, memory.version)
            own = [r.event for r in recorded if r.stream_id == f"memory:{memory.id}"]
            labels = [event.label for event in own if isinstance(event, ev.UseAttributed)]
            signs = [effect.sign for effect in effects]
            assert (counted.memory, counted.state) == (memory.id, memory.state)
            assert counted.version == memory.version == counted.revisions + 1
            assert counted.supplied == sum(isinstance(event, ev.MemorySupplied) for event in own)
            assert (counted.positive, counted.neutral, counted.negative) == (
                signs.count("positive"),
                signs.count("neutral"),
                signs.count("negative"),
            )
            if effects:
                mean = math.fsum(effect.effect for effect in effects) / len(effects)
                assert counted.mean_effect == pytest.approx(mean, abs=1e-9)
            else:
                assert counted.mean_effect is None
            assert counted.content == labels.count("CONTENT")
            assert counted.scope == labels.count("SCOPE")
            assert counted.use_conditions == len(memory.use_when)
            assert counted.avoid_conditions == len(memory.avoid_when)


@counts
def test_tallies_are_those_of_the_views(name: str) -> None:
    """In these logs all that was measured entered a record."""
    with opened(name) as log:
        for each in tallies(log):

            def asked(sql: str, name: str = each.memory) -> list[tuple[object, ...]]:
                return log.rows(sql, (name,))

            shown = "select state, version from memories where id = ?"
            assert asked(shown) == [(each.state, each.version)]
            supplied = "select count(*) from (select distinct position from uses where memory = ?)"
            assert asked(supplied) == [(each.supplied,)]
            assert asked("select count(*) from transitions where memory = ?") == [
                (each.transitions,)
            ]
            assert asked("select count(*) - 1 from versions where memory = ?") == [
                (each.revisions,)
            ]
            for sign in ("positive", "neutral", "negative"):
                measured = "select count(*) from effects where memory = ? and sign = "
                ((number,),) = asked(f"{measured}'{sign}'")
                assert getattr(each, sign) == number


@counts
def test_one_tally_is_that_of_all(name: str) -> None:
    with opened(name) as log:
        assert [
            tally_of(each.memory, log.read(stream=f"memory:{each.memory}")) for each in tallies(log)
        ] == list(tallies(log))


def test_a_memory_that_is_not_there_is_refused_with_those_that_are() -> None:
    with (
        opened("committed") as log,
        pytest.raises(BadInput, match=r"has no memory 'm9' \(m1 to m1\)"),
    ):
        require_memory(log, "m9")
