from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sample_log import (
    LONG,
    SHORT,
    admitted,
    changed,
    completed,
    draft,
    fill,
    ref,
    reply,
    task_started,
)

from discernmem.eventlog import Draft, EventLog, Head, Recorded, digest, encode
from discernmem.eventlog import events as ev
from discernmem.eventlog.chain import event_id
from discernmem.eventlog.errors import BadInput, Conflict, LogError
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import import_
from discernmem.eventlog.reading import PAGE
from discernmem.eventlog.records import MAX_PAYLOAD

TYPES = [
    "TaskStarted",
    "ModelReplied",
    "MemoryAdmitted",
    "TaskCompleted",
    "TaskStarted",
    "ModelReplied",
    "StateChanged",
    "RunFinished",
]


@pytest.fixture(scope="module", params=["writer", "live reader", "reader at rest", "import"])
def full(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EventLog]:
    """The sample log, in every way a log can be open."""
    path = tmp_path_factory.mktemp("full") / "run.db"
    writer = EventLog.create(path, run="r")
    fill(writer)
    if request.param == "writer":
        with writer:
            yield writer
    elif request.param == "live reader":
        with writer, EventLog.open(path) as log:
            yield log
    elif request.param == "reader at rest":
        writer.close()
        with EventLog.open(path) as log:
            yield log
    else:
        with writer, (path.parent / "run.jsonl").open("wb") as out:
            export(writer, out)
        with (path.parent / "run.jsonl").open("rb") as source:
            import_(source, path.with_name("copy.db"))
        with EventLog.open(path.with_name("copy.db")) as log:
            yield log


def positions(found: Iterator[Recorded]) -> list[int]:
    return [recorded.position for recorded in found]


class TestReading:
    """What every log answers, however it is open."""

    def test_events_come_in_the_order_they_were_written(self, full: EventLog) -> None:
        events = list(full.read())
        assert [r.position for r in events] == list(range(1, 9))
        assert [r.type for r in events] == TYPES
        assert all(encode(r.event) == r.payload for r in events)
        assert all(type(r.event).__name__ == r.type for r in events)
        assert all(r.event.stream == r.stream_id for r in events)

    def test_a_part_is_read_by_position_type_and_stream(self, full: EventLog) -> None:
        assert positions(full.read(after=2, until=5)) == [3, 4, 5]
        assert positions(full.read(after=8)) == []
        assert positions(full.read(types={"ModelReplied", "StateChanged"})) == [2, 6, 7]
        assert positions(full.read(types=())) == []
        assert positions(full.read(stream="memory:m1")) == [3, 7]
        assert positions(full.read(stream="memory:m1", after=3, types=["StateChanged"])) == [7]

    def test_an_event_is_found_by_place_id_and_stream(self, full: EventLog) -> None:
        third = full.at(3)
        assert third is not None
        assert full.by_id(third.event_id) == third == full.find("memory:m1")
        seventh = full.find("memory:m1", 2)
        assert seventh is not None
        assert seventh == full.at(7)
        assert (seventh.causation_id, seventh.actor, seventh.correlation_id) == (
            getattr(full.at(1), "event_id", ""),
            "test",
            "r",
        )

    def test_what_is_not_there_is_none(self, full: EventLog) -> None:
        assert full.at(0) is None
        assert full.at(9) is None
        assert full.by_id("0" * 24) is None
        assert full.find("memory:m1", 3) is None
        assert full.find("memory:m2") is None

    def test_a_stream_is_counted_up_to_a_task(self, full: EventLog) -> None:
        assert full.count("memory:m1") == 2
        assert full.count("memory:m1", before_task=2) == 1
        assert full.count("memory:m1", before_task=1) == 0
        assert full.count("run:r", before_task=1) == 1
        assert full.count("memory:m2") == 0

    def test_blobs_come_back_whole(self, full: EventLog) -> None:
        assert full.text(ref(LONG)) == LONG
        assert full.blob(ref(SHORT)) == SHORT.encode()

    @pytest.mark.parametrize("name", ["0" * 64, "not hex"])
    def test_a_blob_that_is_not_there_is_bad_input(self, full: EventLog, name: str) -> None:
        with pytest.raises(BadInput, match=name[:8]):
            full.blob(name)

    def test_positions_of_tasks_are_those_of_their_last_event(self, full: EventLog) -> None:
        assert full.last_task() == 2
        assert [full.position_at_task(task) for task in (0, 1, 2, 3)] == [0, 4, 7, 7]

    def test_the_head_is_the_last_link_and_earlier_ones_are_kept(self, full: EventLog) -> None:
        last = full.at(8)
        assert last is not None
        assert full.head() == Head(f"discernmem/eventlog/{full.log_id}", 8, last.hash)
        assert full.head(3).hash == getattr(full.at(3), "hash", "")
        genesis = hashlib.sha256(f"discernmem/eventlog\n{full.log_id}".encode()).hexdigest()
        assert full.head(0) == Head(full.head().origin, 0, genesis)
        with pytest.raises(BadInput, match="no event at position 9"):
            full.head(9)

    def test_the_chain_can_be_derived_by_anyone_from_the_schemas_words(
        self, full: EventLog
    ) -> None:
        """As schema.sql says it, with the standard library only."""
        prev = bytes.fromhex(full.head(0).hash)
        rows = full.rows(
            "select position, event_id, stream_id, stream_version, type, schema_version,"
            " task_index, recorded_at, actor, causation_id, correlation_id, payload, prev_hash,"
            " hash from events order by position"
        )
        for *header, payload, prev_hash, hash_ in rows:
            links = full.rows(
                "select name, lower(hex(sha256)) from event_blobs where position = ? order by name",
                (header[0],),
            )
            parts = (compact(header), payload, compact([list(link) for link in links]))
            inner = b"".join(hashlib.sha256(part.encode()).digest() for part in parts)
            assert prev_hash == prev
            assert hash_ == hashlib.sha256(prev + inner).digest()
            prev = hash_


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class TestAppending:
    def test_receipts_are_what_a_reader_will_see(self, log: EventLog) -> None:
        receipts = log.append([task_started(1), reply("a"), admitted()])
        assert list(log.read()) == list(receipts)

    def test_ids_follow_from_run_stream_version_and_type(self, log: EventLog) -> None:
        one, two = log.append([admitted(), changed_by_nothing()])
        assert one.event_id == event_id("r", "memory:m1", 1, "MemoryAdmitted")
        assert two.event_id == event_id("r", "memory:m1", 2, "StateChanged")
        assert len({one.event_id, two.event_id, event_id("s", "memory:m1", 1, one.type)}) == 3

    def test_the_same_run_twice_differs_in_log_id_time_and_hash_only(self, tmp_path: Path) -> None:
        rows = []
        for name in ("a", "b"):
            with EventLog.create(tmp_path / name, run="r") as log:
                fill(log)
                rows.append(
                    [
                        log.rows(
                            "select position, event_id, stream_id, stream_version, type,"
                            " schema_version, task_index, actor, causation_id, correlation_id,"
                            " payload from events order by position"
                        ),
                        log.rows("select * from event_blobs order by position, name"),
                        log.rows("select id, sha256, size, codec, content from blobs order by id"),
                    ]
                )
        assert rows[0] == rows[1]

    def test_time_is_utc_of_fixed_width_and_one_for_a_transaction(self, path: Path) -> None:
        east = datetime(2025, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
        with EventLog.create(path, run="r", clock=lambda: east) as log:
            times = {r.recorded_at for r in log.append([task_started(1), completed(1)])}
        assert times == {"2025-02-28T23:30:00.000000Z"}

    def test_an_append_at_another_head_is_a_conflict_that_names_both(self, log: EventLog) -> None:
        log.append([task_started(1), admitted()])
        with pytest.raises(
            Conflict, match=r"expected the log to end at position 1, .* 2 with MemoryAdmitted"
        ):
            log.append([completed(1)], expected=1)
        with pytest.raises(Conflict, match="position 7, it ends at 2 with MemoryAdmitted"):
            log.append([completed(1)], expected=7)
        assert log.head().position == 2

    def test_an_append_ahead_of_an_empty_log_is_a_conflict(self, log: EventLog) -> None:
        with pytest.raises(Conflict, match="position 1, it ends at 0, empty"):
            log.append([admitted()], expected=1)

    def test_the_same_append_again_gives_the_old_receipts(self, log: EventLog) -> None:
        log.append([task_started(1)])
        drafts = [reply("a"), admitted()]
        first = log.append(drafts, expected=1)
        assert log.append(drafts, expected=1) == first
        assert log.append([completed(1)], expected=3)[0].position == 4
        assert log.append(drafts, expected=1) == first
        assert log.head().position == 4

    def test_the_same_place_with_other_content_is_a_conflict_of_two_digests(
        self, log: EventLog
    ) -> None:
        log.append([completed(1, 1.0)], expected=0)
        with pytest.raises(
            Conflict, match=r"position 1 with content [0-9a-f]{12}, not [0-9a-f]{12}"
        ):
            log.append([completed(1, 0.0)], expected=0)

    @pytest.mark.parametrize("change", ["actor", "task_index", "cause"])
    def test_content_includes_what_the_header_says(self, log: EventLog, change: str) -> None:
        (cause,) = log.append([task_started(1)])
        log.append([completed(1)], expected=1)
        other = {"actor": "x", "task_index": 2, "cause": cause.event_id}[change]
        fields = {"event": completed(1).event, "task_index": 1, "actor": "test", change: other}
        with pytest.raises(Conflict, match="content"):
            log.append([Draft(**fields)], expected=1)  # type: ignore[arg-type]

    def test_a_longer_append_than_the_recorded_one_is_a_conflict(self, log: EventLog) -> None:
        log.append([task_started(1)], expected=0)
        with pytest.raises(Conflict, match="ends at 1"):
            log.append([task_started(1), completed(1)], expected=0)

    def test_appending_without_an_expectation_goes_to_the_end(self, log: EventLog) -> None:
        assert [log.append([completed(1)])[0].stream_version for _ in range(3)] == [1, 2, 3]
        assert log.append([]) == ()

    def test_a_cause_or_evidence_must_be_recorded_before(self, log: EventLog) -> None:
        with pytest.raises(BadInput, match="StateChanged: cites event 'nowhere'"):
            log.append([admitted(), changed("nowhere")])
        with pytest.raises(BadInput, match="cites event 'nothing'"):
            log.append([changed_by_nothing("nothing")])
        assert log.head().position == 0
        own = event_id("r", "memory:m1", 1, "MemoryAdmitted")
        assert log.append([admitted(), changed(own, own)])[1].causation_id == own

    def test_a_cited_blob_must_be_given_or_stored(self, log: EventLog) -> None:
        bare = draft(task_started(1).event)
        with pytest.raises(BadInput, match=r"TaskStarted: text cites blob .* not in the log"):
            log.append([bare])
        log.append([task_started(2)])
        log.append([bare])
        assert log.rows("select count(*) from blobs") == [(1,)]
        assert log.rows("select count(*) from event_blobs") == [(2,)]

    def test_a_blob_given_by_a_later_event_comes_too_late(self, log: EventLog) -> None:
        given = task_started(1)
        with pytest.raises(BadInput, match=r"TaskStarted: text cites blob .* not in the log"):
            log.append([draft(given.event), given])
        assert log.rows("select count(*) from blobs") == [(0,)]

    def test_a_blob_of_an_earlier_session_is_not_stored_twice(self, path: Path) -> None:
        with EventLog.create(path, run="r") as log:
            log.append([task_started(1)])
        with EventLog.open(path, write=True) as log:
            log.append([task_started(1), task_started(1)])
            assert log.rows("select count(*) from blobs") == [(1,)]
            assert log.rows("select count(*) from event_blobs") == [(3,)]

    @pytest.mark.parametrize("text", ["A" * 64, "a" * 63, ""])
    def test_what_a_blob_field_holds_must_be_a_digest(self, log: EventLog, text: str) -> None:
        event = ev.TaskStarted(index=1, task="t", domain="d", text=ev.BlobRef(text))
        with pytest.raises(BadInput, match=f"TaskStarted: text is '{text}', not the SHA-256"):
            log.append([draft(event)])

    def test_a_blob_that_the_payload_does_not_cite_is_refused(self, log: EventLog) -> None:
        with pytest.raises(BadInput, match="MemoryAdmitted: a blob of 5 bytes"):
            log.append([draft(admitted().event, 1, None, "stray")])
        assert log.rows("select count(*) from blobs") == [(0,)]

    def test_long_blobs_are_compressed_and_short_ones_stay_readable(self, log: EventLog) -> None:
        log.append([task_started(1), reply("a")])
        rows = log.rows("select codec, size, length(content), content from blobs order by id")
        assert rows[0] == ("none", len(SHORT), len(SHORT), SHORT.encode())
        assert rows[1][:2] == ("zstd", len(LONG))
        assert rows[1][2] < 100

    def test_a_payload_has_a_cap(self, log: EventLog) -> None:
        log.append([draft(admitted_with("x" * (MAX_PAYLOAD - 200)))])
        with pytest.raises(BadInput, match=r"MemoryAdmitted: the payload has \d+ bytes, at most"):
            log.append([draft(admitted_with("x" * MAX_PAYLOAD))])

    def test_an_event_that_could_not_be_read_again_is_not_written(self, log: EventLog) -> None:
        event = ev.TaskCompleted(index=1, task="t", score=1, executions_asked=2)
        with pytest.raises(LogError, match=r"expected float, got int @ TaskCompleted.score"):
            log.append([completed(2), draft(event)])
        assert log.head().position == 0

    def test_a_reader_cannot_append(self, filled: Path) -> None:
        with EventLog.open(filled) as log, pytest.raises(BadInput, match="opened to read"):
            log.append([completed(3)])

    def test_names_of_runs_are_printable(self, path: Path) -> None:
        for run in ("", "a\nb"):
            with pytest.raises(BadInput, match="cannot name a run"):
                EventLog.create(path, run=run)
        assert not list(path.parent.iterdir())


def changed_by_nothing(*evidence: str) -> Draft:
    return draft(changed("", *evidence).event)


def admitted_with(body: str) -> ev.Event:
    return ev.MemoryAdmitted(
        memory="m1",
        role="actor",
        body=body,
        use_when=(),
        avoid_when=(),
        source_task="t",
        source_execution="x",
    )


class TestPages:
    def test_reading_goes_on_over_pages(self, log: EventLog) -> None:
        log.append([completed(n) if n % 2 else admitted(f"m{n}") for n in range(2 * PAGE + 5)])
        assert positions(log.read()) == list(range(1, 2 * PAGE + 6))
        assert positions(log.read(after=PAGE, until=PAGE)) == []
        odd = positions(log.read(types={"TaskCompleted"}))
        assert odd == list(range(2, 2 * PAGE + 6, 2))

    def test_reading_ends_where_the_log_ended_at_the_call(self, log: EventLog) -> None:
        log.append([task_started(1)])
        events = log.read()
        log.append([completed(1)])
        assert positions(events) == [1]

    def test_the_log_can_be_written_while_a_reader_is_in_the_middle(self, log: EventLog) -> None:
        log.append([completed(n) for n in range(1, 2 * PAGE)])
        with EventLog.open(log.path) as reader:
            events = reader.read()
            next(events)
            log.append([admitted()])
            log.rows("pragma wal_checkpoint(truncate)")
            assert len(list(events)) == 2 * PAGE - 2
            assert reader.head().position == 2 * PAGE


class TestHead:
    def test_a_head_is_three_lines(self) -> None:
        head = Head("discernmem/eventlog/abc", 3, digest(b""))
        assert head.to_text() == f"discernmem/eventlog/abc\n3\n{digest(b'')}\n"
        assert Head.from_text(head.to_text()) == head

    @pytest.mark.parametrize(
        "text", ["", "a\n3\n", f"a\n03\n{digest(b'')}\n", f"a\n-1\n{digest(b'')}\n", "a\n1\nxyz\n"]
    )
    def test_other_text_is_no_head(self, text: str) -> None:
        with pytest.raises(BadInput, match="three lines"):
            Head.from_text(text)


def test_the_log_is_usable_with_sql_alone(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        rows = connection.execute(
            "select payload ->> 'score' from events where type = 'TaskCompleted'"
        ).fetchall()
    assert rows == [(1.0,)]


def test_utc_is_used_for_now() -> None:
    from discernmem.eventlog import utc_now

    assert utc_now().tzinfo is UTC
