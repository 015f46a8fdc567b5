"""What the pages look up is what the log says, at every task and while it grows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from site_logs import admit

from discernmem.eventlog import EventLog
from discernmem.eventlog.sidefile import side_path
from discernmem.pages.site.catalogue import Catalogue
from discernmem.pages.site.searching import in_words
from discernmem.projections.held import HELD
from discernmem.projections.state import fold
from discernmem.projections.tallies import tallies


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue()


def held(catalogue: Catalogue, position: int) -> list[tuple[object, ...]]:
    """Every memory after an event: state, version, rule, and its conditions in their order."""
    at = {"position": position}
    texts = catalogue.rows(f"select number, kind, text from texts where {HELD} order by id", at)
    return [
        (
            number,
            state,
            version,
            *(
                tuple(text for owner, name, text in texts if (owner, name) == (number, kind))
                for kind in ("rule", "use", "avoid")
            ),
        )
        for number, state, version in catalogue.rows(
            f"select number, state, version from spans where {HELD} order by number", at
        )
    ]


def test_after_every_event_the_memories_are_those_of_the_fold(
    log_path: Path, catalogue: Catalogue
) -> None:
    with EventLog.open(log_path) as log:
        catalogue.catch_up(log)
        events = list(log.read())
        for position in range(0, len(events), 7):
            store = fold(events[:position]).store
            assert held(catalogue, position) == [
                (m.number, m.state, m.version, (m.body,), m.use_texts, m.avoid_texts)
                for m in store.ordered()
            ]


def test_the_numbers_of_the_list_are_those_of_the_tallies(
    log_path: Path, catalogue: Catalogue
) -> None:
    with EventLog.open(log_path) as log:
        catalogue.catch_up(log)
        names = "state, version, supplied, positive, neutral, negative, mean_effect"
        found = catalogue.rows(f"select id, {names} from memories order by number")
        told = tallies(log)
    assert [tuple(row) for row in found] == [
        (t.memory, t.state, t.version, t.supplied, t.positive, t.neutral, t.negative, t.mean_effect)
        for t in told
    ]


def test_taking_events_in_as_they_come_gives_what_taking_them_all_gives(
    log_path: Path, catalogue: Catalogue
) -> None:
    class Shorter(EventLog):
        end = 0

        def head(self, position: int | None = None):  # type: ignore[no-untyped-def]
            return super().head(
                min(self.end, super().head().position) if position is None else position
            )

    with Shorter.open(log_path) as log:
        for log.end in range(0, 700, 13):
            catalogue.catch_up(log)
        whole = Catalogue()
        whole.catch_up(log)
        for table in ("memories", "spans", "texts", "marks"):
            sql = f"select * from {table} order by 1, 2, 3"
            assert list(map(tuple, catalogue.rows(sql))) == list(map(tuple, whole.rows(sql)))


def test_of_a_log_that_was_cut_only_what_is_left_is_known(
    log_path: Path, tmp_path: Path, catalogue: Catalogue
) -> None:
    before = Path(shutil.copy(log_path, tmp_path / "before.db"))
    with EventLog.open(log_path, write=True) as log:
        admit(log, "A rule that will not last")
        catalogue.catch_up(log)
    assert len(catalogue.rows("select 1 from words where words match 'last'")) == 1
    assert len(catalogue) == 5
    with EventLog.open(before) as log:
        catalogue.catch_up(log)
    assert len(catalogue) == 4
    assert catalogue.rows("select 1 from words where words match 'last'") == []


def test_what_cannot_be_taken_in_leaves_all_as_it_was(
    log_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    with EventLog.open(log_path) as log:
        with monkeypatch.context() as broken:
            broken.setattr(Catalogue, "_mark", fail)
            with pytest.raises(MemoryError):
                catalogue.catch_up(log)
        assert (len(catalogue), catalogue.number("select count(*) from memories")) == (0, 0)
        catalogue.catch_up(log)
        assert (len(catalogue), catalogue.number("select count(*) from memories")) == (4, 4)


def test_no_side_file_is_made(log_path: Path, catalogue: Catalogue) -> None:
    with EventLog.open(log_path) as log:
        catalogue.catch_up(log)
    assert not side_path(log_path).exists()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("", ""),
        ("look again", "look again"),
        ('"look again"', '"look again"'),
        ("loo*", "loo*"),
        ('"look', '"""look"'),
        ("look AND", '"look" "AND"'),
        ("look-again", '"look-again"'),
        ("body:look", '"body:look"'),
        ("NEAR(", '"NEAR("'),
        ("*", '"*"'),
        pytest.param("look\0(", '"look" "("', id="look, nothing, bracket"),
        pytest.param("\0", "", id="nothing"),
    ],
)
def test_what_is_no_query_is_looked_for_as_words(
    catalogue: Catalogue, asked: str, words: str
) -> None:
    assert in_words(catalogue, asked) == words
    if words:
        catalogue.rows("select 1 from words where words match :words", {"words": words})
