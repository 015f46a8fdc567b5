"""The log against its peers on the same events: append and rebuild, as ratios of one process.

    python bench/eventlog_bench.py [tasks]

A task makes 50 events in the mix of a real run. Every arm runs three times, interleaved; the best
of each counts. Peers are plain sqlite3 without guards or chain, and eventsourcing's SQLite recorder
with and without its mapper, which does for it what the codec does for us.
"""

from __future__ import annotations

import gc
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
from peers import Fact, durable, fact, recorder
from peers import mapper as peer_mapper

from discernmem.eventlog import Draft, EventLog, digest, plain
from discernmem.eventlog import events as ev
from discernmem.projections.state import EVENT_TYPES

BATCH = 100
ROUNDS = 3
SYSTEM = "You are the actor of a team that solves planning tasks. " * 30
BARE = f"""
create table events (position integer primary key, {", ".join("bcdefghijklmn")});
create table links (position, name, sha256);
create table blobs (id integer primary key, sha256, size, codec, content);
"""
KEYED = f"""
create table events (
  position integer primary key, b unique, c, d, {", ".join("efghijklmn")}, unique (c, d));
create table links (position, name, sha256, primary key (position, name)) without rowid;
create table blobs (id integer primary key, sha256 unique, size, codec, content);
"""


# -- the events --------------------------------------------------------------------------------


def task(index: int) -> list[Draft]:
    """Fifty events of one task."""
    name, text = (
        f"blocks-{index}",
        f"Stack the blocks of task {index} in the order of their weight.",
    )
    memory = {"memory": f"m{index % 200}", "version": 1}
    request = digest(name.encode())
    injected = ev.Injected(memory=f"m{index % 200}", version=1, role="actor", body=request[:12])
    blob = ev.BlobRef(digest(text.encode()))
    listed: dict[str, Any] = {"fallback": "", "replies": (), "evidence": ()}
    of_task: dict[str, Any] = {"index": index, "task": name}
    events: list[tuple[ev.Event, tuple[bytes, ...]]] = [
        (ev.TaskStarted(**of_task, domain="blocks", text=blob), (text.encode(),))
    ]
    for turn in range(12):
        events.append(_reply(index, turn))
    for role in ("actor", "planner"):
        near = tuple(ev.Candidate(memory=f"m{n}", similarity=0.5 + n / 64) for n in range(5))
        events += [
            (ev.MemoriesRetrieved(**of_task, role=role, context=blob, candidates=near), ()),
            (ev.SelectionDecided(**of_task, role=role, selected=("m1",), unknown=(), **listed), ()),
        ]
    for use in range(3):
        events += [
            (ev.MemorySupplied(**memory, role="actor", task=name, similarity=0.625), ()),
            (_execution(name, digest(f"{index}/{use}".encode()), injected, blob), ()),
            (_effect(memory, name, request), ()),
            (
                ev.ScopeChecked(
                    **memory,
                    task=name,
                    use=True,
                    avoid=False,
                    boundary="the tower is high",
                    context=blob,
                    **listed,
                ),
                (),
            ),
            (ev.UseAttributed(**memory, task=name, label="NONE", reason="positive effect"), ()),
            (_entry(memory, name, blob), ()),
            (
                ev.ConditionAdded(
                    **memory, kind="avoid_when", text="a block is held", source="scope check"
                ),
                (),
            ),
            (_transition(memory), ()),
        ]
    events += [
        (ev.TaskScored(**of_task, score=0.75, execution=request, supplied=(injected,)), ()),
        (_admitted(index, name), ()),
        (ev.CalibrationDrawn(memory=f"n{index}", version=1, tasks=(name, "blocks-0")), ()),
        (_candidate(memory), ()),
        (ev.RepairProposed(**memory, repair="r", round=1, edits=1, **listed), ()),
        (ev.MemoryRevised(**memory, body=BODY, repair="r", round=1, number=1, capability=None), ()),
        (ev.RepairEnded(**memory, repair="r", outcome="committed", rounds=1), ()),
        (ev.TaskCompleted(**of_task, score=0.75, executions_asked=11), ()),
        (ev.StoreCheckpointed(run="bench", index=index, state_version=1, state_hash=request), ()),
    ]
    return [Draft(event=e, task_index=index, actor="bench", blobs=blobs) for e, blobs in events]


BODY = "Before lifting a block, check that nothing stands on it; else move what stands on it first."


def _reply(index: int, turn: int) -> tuple[ev.Event, tuple[bytes, ...]]:
    seen = f"Task {index}, turn {turn}: the hand is empty and block {turn} is clear."
    contents = (SYSTEM.encode(), seen.encode())
    event = ev.ModelReplied(
        request=digest(contents[1]),
        purpose="role",
        role="actor",
        messages=tuple(
            ev.MessageRef(role=role, content=ev.BlobRef(digest(content)))
            for role, content in zip(("system", "user"), contents, strict=True)
        ),
        temperature=0.0,
        top_p=0.95,
        max_tokens=256,
        seed=turn,
        schema=None,
        text=f"Block {turn} is clear and the hand is empty. ACTION: pick up {turn}",
        text_blob=None,
        finish="stop",
        prompt_tokens=812,
        completion_tokens=24,
    )
    return event, contents


def _execution(name: str, request: str, injected: ev.Injected, blob: ev.BlobRef) -> ev.Event:
    return ev.ExecutionFinished(
        request=request,
        task=name,
        supplied=(injected,),
        score=0.75,
        metrics={"progress": 0.75, "steps": 12.0},
        trajectory=blob,
        contexts=blob,
        environment_steps=12,
        model_calls=24,
    )


def _effect(memory: dict[str, Any], name: str, request: str) -> ev.Event:
    return ev.EffectMeasured(
        **memory,
        task=name,
        origin="reuse",
        score_with=0.75,
        score_without=0.5,
        effect=0.25,
        sign="positive",
        changed=True,
        execution_with=request,
        execution_without=request,
        evidence=(),
    )


def _entry(memory: dict[str, Any], name: str, context: ev.BlobRef) -> ev.Event:
    return ev.EffectRecorded(
        **memory,
        task=name,
        origin="reuse",
        effect=0.25,
        sign="positive",
        label="NONE",
        avoid=False,
        context=context,
        changed=True,
    )


def _transition(memory: dict[str, Any]) -> ev.Event:
    return ev.StateChanged(
        **memory, before="provisional", after="active", rule="promotion", evidence=()
    )


def _admitted(index: int, name: str) -> ev.Event:
    return ev.MemoryAdmitted(
        memory=f"n{index}",
        role="actor",
        body=BODY,
        use_when=("blocks stand on each other",),
        avoid_when=(),
        source_task=name,
        source_execution="x",
    )


def _candidate(memory: dict[str, Any]) -> ev.Event:
    return ev.CandidateProposed(
        **memory,
        repair="r",
        round=1,
        number=1,
        operation="REPLACE",
        anchor="check that nothing stands on it",
        edit="check that its top is clear",
        cited=("s1", "s2"),
        correction="looks at the top",
        body=BODY,
        problem="",
    )


# -- measuring ---------------------------------------------------------------------------------

Arm = Callable[[Path], None]


def best(arms: dict[str, Arm], folder: Path) -> dict[str, tuple[float, float]]:
    """The least wall and CPU seconds of each arm over interleaved rounds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for round_ in range(ROUNDS):
        for name, arm in arms.items():
            scratch = folder / f"{round_}"
            scratch.mkdir(exist_ok=True)
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            arm(scratch)
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
            shutil.rmtree(scratch)
    return {name: (min(w for w, _ in t), min(c for _, c in t)) for name, t in times.items()}


def table(title: str, times: dict[str, tuple[float, float]], events: int) -> None:
    """Rates and what each arm takes in units of the first."""
    print(f"\n{title}, {events} events")
    print(f"{'':<46}{'us wall':>9}{'us CPU':>9}{'x wall':>9}{'x CPU':>9}")
    (wall, cpu), *_ = times.values()
    for name, (w, c) in times.items():
        each = 1e6 / events
        print(f"{name:<46}{w * each:>9.1f}{c * each:>9.1f}{w / wall:>9.2f}{c / cpu:>9.2f}")


def batches(items: list[Any]) -> Iterator[list[Any]]:
    """Items in the batches of one transaction."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def facts(drafts: list[Draft], versions: dict[str, int]) -> list[Fact]:
    """The same events for eventsourcing; ``versions`` counts on through the streams."""
    made = []
    for draft in drafts:
        stream = draft.event.stream
        versions[stream] = versions.get(stream, 0) + 1
        made.append(fact(draft.event, versions[stream]))
    return made


def bench_append(drafts: list[Draft], folder: Path) -> None:
    """Events per transaction of 100, on the disk when acknowledged."""
    mapper = peer_mapper()
    domain = facts(drafts, {})
    stored = [mapper.to_stored_event(fact) for fact in domain]
    rows = _rows(drafts, folder)

    def ours(scratch: Path) -> None:
        with EventLog.create(scratch / "run.db", run="bench") as log:
            for batch in batches(drafts):
                log.append(batch)

    def bare(scratch: Path, schema: str = BARE) -> None:
        sql = durable(scratch / "bare.db")
        sql.executescript(schema)
        for events, links, blobs in rows:
            sql.execute("begin immediate")
            sql.executemany("insert into blobs values (?,?,?,?,?)", blobs)
            sql.executemany("insert into links values (?,?,?)", links)
            sql.executemany(f"insert into events values ({','.join('?' * 14)})", events)
            sql.execute("commit")
        sql.close()

    def peer(scratch: Path) -> None:
        to = recorder(scratch / "peer.db")
        for batch in batches(stored):
            to.insert_events(batch)
        to.datastore.close()

    def peer_mapped(scratch: Path) -> None:
        to = recorder(scratch / "peer.db")
        for batch in batches(domain):
            to.insert_events([mapper.to_stored_event(fact) for fact in batch])
        to.datastore.close()

    arms: dict[str, Arm] = {
        "EventLog.append": ours,
        "bare executemany of the same rows": bare,
        "bare executemany, tables with the same keys": lambda path: bare(path, KEYED),
        "eventsourcing recorder, encoded before": peer,
        "eventsourcing mapper and recorder": peer_mapped,
    }
    table("append, 100 to a transaction", best(arms, folder), len(drafts))


def _rows(drafts: list[Draft], folder: Path) -> list[tuple[list[Any], list[Any], list[Any]]]:
    """The rows that ours writes, by transaction."""
    with EventLog.create(folder / "rows.db", run="bench") as log:
        for batch in batches(drafts):
            log.append(batch)
        events = log.rows("select * from events order by position")
        links = log.rows("select * from event_blobs order by position")
        blobs = log.rows(
            "select (select min(position) from event_blobs e where e.sha256 = b.sha256), b.*"
            " from blobs b order by id"
        )
    found = []
    for first in range(1, len(events) + 1, BATCH):
        span = range(first, first + BATCH)
        found.append(
            (
                events[first - 1 : first - 1 + BATCH],
                [row for row in links if row[0] in span],
                [row[1:] for row in blobs if row[0] in span],
            )
        )
        links = links[len(found[-1][1]) :]
        blobs = blobs[len(found[-1][2]) :]
    return found


def bench_rebuild(tasks: int, folder: Path) -> None:
    """Reading a whole log into events."""
    log_path, peer_path = folder / "rebuild.db", folder / "peer.db"
    mapper, to = peer_mapper(), recorder(peer_path)
    versions: dict[str, int] = {}
    with EventLog.create(log_path, run="bench") as log:
        for first in range(1, tasks + 1, 100):
            drafts = [d for index in range(first, min(first + 100, tasks + 1)) for d in task(index)]
            log.append(drafts)
            to.insert_events([mapper.to_stored_event(fact) for fact in facts(drafts, versions)])
    del drafts

    def ours(_: Path, types: tuple[str, ...] | None = None) -> None:
        with EventLog.open(log_path) as log:
            for recorded in log.read(types=types):
                assert recorded.event is not None

    def dicts(_: Path, columns: str = "*") -> None:
        sql = sqlite3.connect(log_path)
        for row in sql.execute(f"select {columns}, payload from events order by position"):
            orjson.loads(row[-1])
        sql.close()

    def peer(_: Path) -> None:
        start = 1
        while found := to.select_notifications(start, 1000):
            for notification in found:
                mapper.to_domain_event(notification)
            start = found[-1].id + 1

    arms: dict[str, Arm] = {
        "EventLog.read, all types": ours,
        "EventLog.read, types a store fold needs": lambda path: ours(path, EVENT_TYPES),
        "select all columns + orjson to dict": dicts,
        "select position, type, payload + orjson": lambda path: dicts(path, "position, type"),
        "eventsourcing notifications + mapper": peer,
    }
    table("rebuild", best(arms, folder), tasks * 50)
    to.datastore.close()


def main() -> None:
    """Make the events, run both benches, print two tables."""
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    drafts = [draft for index in range(1, tasks // 5 + 1) for draft in task(index)]
    assert len(drafts) == tasks // 5 * 50
    sizes = sorted(len(orjson.dumps(plain(draft.event))) for draft in drafts[:500])
    print(f"payloads: median {sizes[250]} bytes, largest {sizes[-1]}")
    with tempfile.TemporaryDirectory() as folder:
        bench_append(drafts, Path(folder))
        drafts.clear()
        bench_rebuild(tasks, Path(folder))


if __name__ == "__main__":
    main()
