"""What `log_scale_bench.py` measures, each arm in a process of its own.

    python bench/arms.py ARM LOG FOLDER

An arm prints one line of JSON: the seconds of what counts (fetching its material does not), how
many events that was about, or the milliseconds of single questions; and its peak memory. ``FOLDER``
holds what arms leave for others: the export, the peers' files, the exact bytes of stores.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import orjson
import zstandard
from peers import Folded, fact, mapper, originator, recorder, unguarded

from discernmem.eventlog import Draft, EventLog
from discernmem.eventlog.blobs import unpack
from discernmem.eventlog.export import export
from discernmem.eventlog.files import initialise
from discernmem.eventlog.importing import import_ as import_log
from discernmem.pages.report import figures_of, write_one
from discernmem.pages.site.server import datasette_of
from discernmem.projections.audit import life
from discernmem.projections.state import EVENT_TYPES, fold
from discernmem.projections.timeline import Timeline
from discernmem.replayers.verification import verify_run

STORES = 40
MEMORIES = 200
STORIES = 100

INSERT = {
    "blobs": "insert into blobs values (?, ?, ?, ?, ?)",
    "event_blobs": "insert into event_blobs values (?, ?, ?)",
    "events": f"insert into events values ({', '.join('?' * 14)})",
}
ORDER = {"blobs": "id", "event_blobs": "position, name", "events": "position"}
FOLDED = f"type in ({', '.join(repr(name) for name in EVENT_TYPES)})"


@attrs.define
class Taken:
    """What an arm took: seconds for all its events, or milliseconds for each of its questions."""

    events: int = 0
    seconds: float = 0.0
    questions: list[float] = attrs.field(factory=list)
    note: str = ""

    def time(self, work: Callable[[], Any]) -> Any:
        """Do a part of what counts."""
        started = time.perf_counter()
        done = work()
        self.seconds += time.perf_counter() - started
        return done

    def ask(self, question: Callable[[], Any]) -> Any:
        """Ask twice; the second time counts, since what is read then is in memory."""
        question()
        started = time.perf_counter()
        answer = question()
        self.questions.append((time.perf_counter() - started) * 1000)
        return answer

    def report(self) -> dict[str, Any]:
        """What the parent process reads."""
        found = attrs.asdict(self, filter=lambda field, _: field.name != "questions")
        if self.questions:
            ordered = sorted(self.questions)
            found["median"] = median(ordered)
            found["p95"] = ordered[len(ordered) * 95 // 100]
            found["most"] = ordered[-1]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {**found, "megabytes": peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)}


# -- material ----------------------------------------------------------------------------------


def rows(path: Path, sql: str, *parameters: object) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, one by one."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield from connection.execute(sql, parameters)


def drafts(log: Path) -> Iterator[list[Draft]]:
    """The events of a log as they were appended: a list for each task."""
    seen: set[str] = set()
    with EventLog.open(log) as opened:
        links = rows(log, "select position, lower(hex(sha256)) from event_blobs order by position")
        link = next(links, None)
        for _, group in groupby(opened.read(), key=lambda recorded: recorded.task_index):
            batch = []
            for recorded in group:
                contents = []
                while link is not None and link[0] == recorded.position:
                    if link[1] not in seen:
                        seen.add(link[1])
                        contents.append(opened.blob(link[1]))
                    link = next(links, None)
                batch.append(
                    Draft(
                        event=recorded.event,
                        task_index=recorded.task_index,
                        actor=recorded.actor,
                        cause=recorded.causation_id,
                        blobs=tuple(contents),
                    )
                )
            yield batch


def transactions(log: Path) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """The rows of a log by table, in the transactions they were written in."""
    after = blob = 0
    with closing(sqlite3.connect(log)) as connection:
        for _, group in groupby(
            rows(log, "select task_index, position from events order by position"),
            key=lambda row: row[0],
        ):
            *_, (_, until) = group
            span = (after, until)
            links = connection.execute(
                "select * from event_blobs where position > ? and position <= ?", span
            ).fetchall()
            events = connection.execute(
                "select * from events where position > ? and position <= ?", span
            ).fetchall()
            ids = connection.execute(
                "select max(id) from blobs where sha256 in (select sha256 from event_blobs"
                " where position > ? and position <= ?)",
                span,
            ).fetchone()[0]
            blobs = connection.execute(
                "select * from blobs where id > ? and id <= ?", (blob, ids or blob)
            ).fetchall()
            after, blob = until, max(blob, ids or blob)
            yield {"blobs": blobs, "event_blobs": links, "events": events}


def positions(log: Path) -> list[int]:
    """The ends of some tasks, drawn over the whole log."""
    with EventLog.open(log) as opened:
        last = opened.last_task()
        tasks = random.Random(1).sample(range(1, last + 1), min(STORES, last))
        return [opened.position_at_task(task) for task in tasks]


def memories(log: Path) -> list[str]:
    """The memory with the most events and some others."""
    sql = (
        "select substr(stream_id, 8) from events where stream_id glob 'memory:*'"
        " group by 1 order by count(*) desc, 1"
    )
    most, *others = (name for (name,) in rows(log, sql))
    return [most, *random.Random(1).sample(others, min(MEMORIES, len(others)))]


# -- append ------------------------------------------------------------------------------------


def append(log: Path, folder: Path) -> Taken:
    taken = Taken()
    with EventLog.open(log) as opened:
        run = opened.run
    with EventLog.create(folder / "append.db", run=run) as new:
        for batch in drafts(log):
            taken.time(lambda batch=batch: new.append(batch))
            taken.events += len(batch)
    return taken


def append_sqlite(log: Path, folder: Path) -> Taken:
    taken = Taken()
    with closing(unguarded(folder / "append.db")) as connection:

        def write(tables: dict[str, list[tuple[Any, ...]]]) -> None:
            connection.execute("begin immediate")
            for table, found in tables.items():
                connection.executemany(INSERT[table], found)
            connection.execute("commit")

        for tables in transactions(log):
            taken.time(lambda tables=tables: write(tables))
            taken.events += len(tables["events"])
    return taken


def append_peer(log: Path, folder: Path) -> Taken:
    """Without blobs, chain and references, of which the peer knows nothing; encoding included."""
    taken = Taken()
    to, encoder, versions = recorder(folder / "peer.db"), mapper(), dict[str, int]()
    for batch in drafts(log):
        facts = []
        for draft in batch:
            stream, name = draft.event.stream, type(draft.event).__name__
            version = 1
            if not stream.startswith("request:"):
                version = versions[stream] = versions.get(stream, 0) + 1
            facts.append(fact(draft.event, version, folded=name in EVENT_TYPES))
        taken.time(
            lambda facts=facts: to.insert_events([encoder.to_stored_event(f) for f in facts])
        )
        taken.events += len(batch)
    to.datastore.close()
    return taken


# -- rebuild -----------------------------------------------------------------------------------


def rebuild(log: Path, _: Path) -> Taken:
    taken = Taken()
    with EventLog.open(log) as opened:
        taken.time(lambda: fold(opened.read(types=EVENT_TYPES)))
        taken.events = opened.head().position
    return taken


def rebuild_sqlite(log: Path, _: Path) -> Taken:
    """Select and decode the rows that the fold reads, no more."""
    sql = f"select *, cast(payload as blob) from events where +{FOLDED} order by position"
    taken = Taken()

    def read() -> None:
        for row in rows(log, sql):
            orjson.loads(row[-1])

    taken.time(read)
    ((taken.events,),) = rows(log, "select count(*) from events")
    return taken


def rebuild_peer(log: Path, folder: Path) -> Taken:
    """Read the events that the fold reads; the peer selects them by class."""
    taken = Taken()
    frm, decoder = recorder(folder / "peer.db"), mapper()
    topic = f"{Folded.__module__}:{Folded.__qualname__}"

    def read() -> None:
        start: int | None = None
        while found := frm.select_notifications(
            start, 1000, topics=[topic], inclusive_of_start=start is None
        ):
            for notification in found:
                decoder.to_domain_event(notification)
            start = found[-1].id

    taken.time(read)
    ((taken.events,),) = rows(log, "select count(*) from events")
    frm.datastore.close()
    return taken


# -- at ----------------------------------------------------------------------------------------


def fill(log: Path, _: Path) -> Taken:
    """The first question of all, which fills the side file."""
    taken = Taken()
    side = log.with_suffix(".store.db")
    side.unlink(missing_ok=True)
    with EventLog.open(log) as opened, Timeline(opened) as timeline:
        taken.events = opened.head().position
        taken.time(lambda: timeline.count(taken.events))
    taken.note = f"{side.stat().st_size / 1e6:.0f} MB beside the log"
    return taken


def at(log: Path, folder: Path) -> Taken:
    taken = Taken()
    sizes = []
    kept = sqlite3.connect(folder / "stores.db")
    kept.execute("create table stores (position integer primary key, store blob not null)")
    with EventLog.open(log) as opened, Timeline(opened) as timeline:
        for position in positions(log):
            store = taken.ask(lambda position=position: timeline.serialised(position))
            sizes.append(len(store))
            kept.execute("insert into stores values (?, ?)", (position, store))
    kept.commit()
    kept.close()
    taken.note = f"{median(sizes) / 1e6:.1f} MB of JSON, at most {max(sizes) / 1e6:.1f}"
    return taken


def at_sqlite(_: Path, folder: Path) -> Taken:
    """Read the same bytes, kept whole for just these tasks."""
    taken = Taken()
    with closing(sqlite3.connect(folder / "stores.db")) as connection:
        for (position,) in connection.execute("select position from stores").fetchall():
            sql = "select store from stores where position = ?"
            taken.ask(
                lambda sql=sql, position=position: connection.execute(sql, (position,)).fetchone()
            )
    return taken


# -- why ---------------------------------------------------------------------------------------


def why(log: Path, _: Path) -> Taken:
    taken = Taken()
    events = []
    with EventLog.open(log) as opened:
        for name in memories(log):

            def told(name: str = name) -> dict[str, Any]:
                return life(opened, name).plain()

            taken.ask(told)
            events.append(opened.count(f"memory:{name}"))
    taken.note = f"{events[0]} events for the most used: {taken.questions[0]:.0f} ms"
    return taken


def why_sqlite(log: Path, _: Path) -> Taken:
    """Select and decode the same rows: the memory's stream, and by id what it cites."""
    taken = Taken()
    with closing(sqlite3.connect(log)) as connection:

        def select(sql: str, value: str) -> list[dict[str, Any]]:
            found = connection.execute(f"select * from events where {sql}", (value,))
            return [{**orjson.loads(row[11]), "cause": row[9]} for row in found]

        for name in memories(log):
            own = select("stream_id = ?", f"memory:{name}")
            cited = dict.fromkeys(
                event_id
                for each in own
                for event_id in (each["cause"], *each.get("evidence", ()))
                if event_id is not None
            )

            def read(name: str = name, cited: dict[str, None] = cited) -> None:
                select("stream_id = ?", f"memory:{name}")
                for event_id in cited:
                    select("event_id = ?", event_id)

            taken.ask(read)
    return taken


def why_peer(log: Path, folder: Path) -> Taken:
    """Select and decode the memory's stream; the peer finds no event by its id."""
    taken = Taken()
    frm, decoder = recorder(folder / "peer.db"), mapper()
    for name in memories(log):
        stream = originator(f"memory:{name}")
        taken.ask(
            lambda stream=stream: [
                decoder.to_domain_event(stored) for stored in frm.select_events(stream)
            ]
        )
    frm.datastore.close()
    return taken


# -- pages -------------------------------------------------------------------------------------


def page(log: Path, _: Path) -> Taken:
    """Pages of memories as a browser gets them, but for the network."""
    taken = Taken()
    client = datasette_of(log, "127.0.0.1").client
    sizes = []
    with asyncio.Runner() as runner:
        for name in memories(log):
            address = f"/{log.stem}/-/memories/{name}"
            found = taken.ask(lambda address=address: runner.run(client.get(address)))
            assert found.status_code == 200, found.text
            sizes.append(len(found.content))
    taken.note = f"the most used memory: {taken.questions[0]:.0f} ms, {sizes[0] / 1e3:.0f} kB"
    return taken


def report_(log: Path, folder: Path) -> Taken:
    """The whole report, written to a file."""
    taken = Taken()
    target = folder / "report.html"

    def write() -> None:
        with EventLog.open(log) as opened:
            taken.events = opened.head().position
            write_one(opened, figures_of(opened, log.name), target, stories=STORIES)

    taken.time(write)
    taken.note = f"{target.stat().st_size / 1e6:.1f} MB, {STORIES} stories; {taken.seconds:.1f} s"
    return taken


def report_sqlite(log: Path, _: Path) -> Taken:
    """Select and decode every event but what models said."""
    taken = Taken()

    def read() -> None:
        for position, payload in rows(
            log, "select position, payload from events where type <> ?", "ModelReplied"
        ):
            orjson.loads(payload)
            taken.events = position

    taken.time(read)
    return taken


# -- verify, export, import --------------------------------------------------------------------


def verify(log: Path, _: Path) -> Taken:
    taken = Taken()
    report = taken.time(lambda: verify_run(log))
    assert report.ok, report.problems[:3]
    taken.events = report.checked
    return taken


def verify_sqlite(log: Path, _: Path) -> Taken:
    """Select all rows and make the SHA-256 of every payload and every unpacked content."""
    taken = Taken()

    def read() -> None:
        for row in rows(log, "select *, cast(payload as blob) from events order by position"):
            hashlib.sha256(row[-1]).digest()
            taken.events += 1
        for _ in rows(log, "select * from event_blobs order by position, name"):
            pass
        for _, sha256, size, codec, content in rows(log, "select * from blobs order by id"):
            unpack(codec, size, content, sha256)

    taken.time(read)
    return taken


def export_(log: Path, folder: Path) -> Taken:
    taken = Taken()
    path = folder / "export.jsonl"
    with EventLog.open(log) as opened, path.open("wb") as out:
        taken.events = taken.time(lambda: export(opened, out)).position
    taken.note = f"{path.stat().st_size / 1e6:.0f} MB"
    return taken


def export_sqlite(log: Path, folder: Path) -> Taken:
    """Select all rows and write them as JSON Lines."""
    taken = Taken()
    unpacked = zstandard.ZstdDecompressor()

    def write(out: io.BufferedWriter) -> None:
        for _, sha256, size, codec, content in rows(log, "select * from blobs order by id"):
            if codec == "zstd":
                content = unpacked.decompress(content, max_output_size=size)
            out.write(orjson.dumps([sha256.hex(), content.decode("latin-1")]))
        links = rows(log, "select position, name, hex(sha256) from event_blobs order by 1")
        for link in links:
            out.write(orjson.dumps(link))
        for row in rows(log, "select * from events order by position"):
            taken.events += 1
            out.write(orjson.dumps((*row[:11], orjson.Fragment(row[11]), row[13].hex())))

    with (folder / "bare.jsonl").open("wb") as out:
        taken.time(lambda: write(out))
    taken.note = f"{(folder / 'bare.jsonl').stat().st_size / 1e6:.0f} MB"
    return taken


def import_(log: Path, folder: Path) -> Taken:
    taken = Taken()
    ((taken.events,),) = rows(log, "select count(*) from events")
    with (folder / "export.jsonl").open("rb") as source:
        taken.time(lambda: import_log(source, folder / "import.db"))
    return taken


def import_sqlite(log: Path, folder: Path) -> Taken:
    """Insert the same rows, selected from the log, into the same schema in one transaction."""
    taken = Taken()
    with EventLog.open(log) as opened:
        log_id, run = opened.log_id, opened.run
    path = folder / "import.db"

    def insert() -> None:
        initialise(path, log_id=log_id, run=run)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("begin")
            for table, order in ORDER.items():
                connection.executemany(
                    INSERT[table], rows(log, f"select * from {table} order by {order}")
                )
            connection.execute("commit")

    ((taken.events,),) = rows(log, "select count(*) from events")
    taken.time(insert)
    return taken


ARMS: dict[str, Callable[[Path, Path], Taken]] = {
    "append": append,
    "append_sqlite": append_sqlite,
    "append_peer": append_peer,
    "rebuild": rebuild,
    "rebuild_sqlite": rebuild_sqlite,
    "rebuild_peer": rebuild_peer,
    "fill": fill,
    "at": at,
    "at_sqlite": at_sqlite,
    "why": why,
    "why_sqlite": why_sqlite,
    "why_peer": why_peer,
    "page": page,
    "page_sqlite": why_sqlite,
    "report": report_,
    "report_sqlite": report_sqlite,
    "verify": verify,
    "verify_sqlite": verify_sqlite,
    "export": export_,
    "export_sqlite": export_sqlite,
    "import": import_,
    "import_sqlite": import_sqlite,
}


def main() -> None:
    """Run the arm that is named."""
    arm, log, folder = sys.argv[1:]
    print(orjson.dumps(ARMS[arm](Path(log), Path(folder)).report()).decode())


if __name__ == "__main__":
    main()
