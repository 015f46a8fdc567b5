"""A run from its first event to its last: started, resumed after anything, or replayed offline."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Callable
from importlib import metadata
from math import fsum
from pathlib import Path

import attrs
import orjson

from ..decisions.settings import DECISION_VERSION
from ..eventlog import events as ev
from ..eventlog.codec import canonical, digest, digest_json
from ..eventlog.errors import BadInput
from ..eventlog.lock import WriterLock
from ..eventlog.log import Draft, EventLog
from ..eventlog.snapshots import Snapshots
from ..projections.state import STATE_VERSION, State, dump
from ..projections.timeline import last_completed, state_at_position
from .benchmarks import open_benchmark
from .benchmarks.base import Benchmark, Task
from .config import Config, parse_config
from .cycle import run_task
from .deciding import Decider
from .embeddings import Embeddings
from .executions import Executions, LiveExecutions, RecordedExecutions, Sampling, Setting
from .gateway import Gateway
from .journal import EndOfLog, Journal
from .models import open_embedder, open_model
from .models.base import Embedder, Model
from .run import Run
from .team import Host, load_host

SNAPSHOT_TASKS = 100
"""Tasks between the snapshots a live run keeps."""

TaskDone = Callable[[int, Task, Run], None]
"""Called after each completed task with its index, the task and the run."""


@attrs.frozen(kw_only=True)
class World:
    """Everything outside the log that a live run asks: opened before the log is touched."""

    config: Config
    host: Host
    benchmark: Benchmark
    model: Model
    embedder: Embedder
    tasks: tuple[Task, ...]

    @property
    def stream_digest(self) -> str:
        """Digest of all tasks in order, as the team will read them."""
        return digest_json([[t.id, t.domain, digest(t.text.encode())] for t in self.tasks])

    def header(self) -> ev.RunStarted:
        """The run's first event; the run's id is a digest of all that can change a conclusion."""
        fixed = {
            "config": self.config.table(),
            "host": self.host.facts(self.benchmark.name),
            "benchmark": dict(self.benchmark.facts),
            "model": {"fingerprint": self.model.card.fingerprint, **self.model.card.facts},
            "embedder": {"fingerprint": self.embedder.card.fingerprint, **self.embedder.card.facts},
            "stream_digest": self.stream_digest,
            "decision_version": DECISION_VERSION,
        }
        deciding = {
            **fixed,
            "model": self.model.card.fingerprint,
            "embedder": self.embedder.card.fingerprint,
        }
        return ev.RunStarted(
            run=digest_json(deciding)[:12],
            tasks=len(self.tasks),
            software=software(),
            **orjson.loads(canonical(fixed)),
        )


def open_world(
    config: Config, *, model: Model | None = None, embedder: Embedder | None = None
) -> World:
    """Open benchmark, host, model and embedder; the last two unless they are given.

    Raises:
        BadInput: one of them is not usable as configured.
        Infrastructure: one of them cannot be reached.
    """
    host, benchmark, tasks = open_stream(config)
    return World(
        config=config,
        host=host,
        benchmark=benchmark,
        model=model or open_model(config.model.name, context=config.model.context),
        embedder=embedder or open_embedder(config.embedder.name),
        tasks=tasks,
    )


def open_stream(config: Config) -> tuple[Host, Benchmark, tuple[Task, ...]]:
    """The team, the benchmark and the tasks of a run: all of its world that needs no model.

    Raises:
        BadInput: one of them is not usable as configured.
    """
    host = load_host(config.host)
    benchmark = open_benchmark(config.benchmark.name, config.benchmark.options)
    if benchmark.name not in host.instructions:
        raise BadInput(f"host {host.name} has no instructions for benchmark {benchmark.name}")
    return host, benchmark, benchmark.tasks()[: config.tasks]


def software() -> dict[str, str]:
    """Versions of what computed the run, for people; no rule reads them."""
    return {
        "discernmem": metadata.version("discernmem"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
    }


def header_of(log: EventLog) -> ev.RunStarted:
    """The first event of a log.

    Raises:
        BadInput: the log holds no run.
    """
    first = log.at(1)
    if first is None or not isinstance(first.event, ev.RunStarted):
        raise BadInput(f"{log.path}: holds no run; start one with `discernmem run`")
    return first.event


def holds_run(path: Path) -> bool:
    """Whether there is a log at ``path`` with a first event.

    Raises:
        BadInput: there is a file that is no log.
    """
    if not path.exists():
        return False
    with EventLog.open(path) as log:
        return log.head().position > 0


def require_free(path: Path) -> None:
    """Refuse a place where no new run can be recorded, before anything is opened for it.

    Raises:
        BadInput: ``path`` holds a run already, or nothing can be written there.
    """
    if holds_run(path):
        raise BadInput(
            f"{path} holds a run already; `discernmem resume {path}` goes on with it, "
            "a new run needs another file"
        )
    WriterLock(path).release()


def start(path: Path, world: World, *, each: TaskDone | None = None) -> None:
    """Record a new run at ``path`` to its end.

    A log without any event, left by a start that was killed, is taken over.

    Raises:
        BadInput: ``path`` holds a run already or cannot be created.
        Infrastructure: the world failed; what was done is kept, `resume` goes on from it.
    """
    header = world.header()
    require_free(path)
    with _empty_log(path, header.run) as log:
        log.append([Draft(event=header, actor="run")], expected=0)
        _go_on(log, world, header, each)


def _empty_log(path: Path, run: str) -> EventLog:
    if not path.exists():
        return EventLog.create(path, run=run)
    log = EventLog.open(path, write=True)
    if log.run != run:
        log.close()
        raise BadInput(
            f"{path} was made for another run and holds no event of it; delete it, "
            "or choose another file"
        )
    return log


def resume(
    path: Path,
    *,
    open_: Callable[[Config], World] = open_world,
    begin: Callable[[World, int], None] | None = None,
    each: TaskDone | None = None,
) -> int:
    """Go on with the run at ``path``; returns the number of tasks completed now.

    The open task is run again over its recorded part: what is recorded is served and compared.

    Raises:
        BadInput: the world now is not the one the run was started in.
        Infrastructure: the world failed again; `resume` can be repeated.
    """
    with EventLog.open(path, write=True) as log:
        header = header_of(log)
        world = open_(parse_config(header.config, f"{path} (recorded configuration)"))
        _require_same(path, header, world.header())
        if begin is not None:
            begin(world, last_completed(log))
        return _go_on(log, world, header, each)


def _require_same(path: Path, was: ev.RunStarted, now: ev.RunStarted) -> None:
    pairs: dict[str, tuple[object, object]] = {
        "model fingerprint": (was.model["fingerprint"], now.model["fingerprint"]),
        "embedder fingerprint": (was.embedder["fingerprint"], now.embedder["fingerprint"]),
        "stream digest": (was.stream_digest, now.stream_digest),
        "decision version": (was.decision_version, now.decision_version),
    }
    for name in ("host", "benchmark"):
        olds, news = getattr(was, name), getattr(now, name)
        for key in sorted(olds.keys() | news.keys()):
            pairs[f"{name} {key}"] = (olds.get(key), news.get(key))
    for name, (old, new) in pairs.items():
        if old != new:
            raise BadInput(
                f"{path}: cannot resume, the {name} was {_short(old)} and is now {_short(new)}; "
                "resume where the run was started, or start a new run"
            )


def _short(value: object, limit: int = 80) -> str:
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _go_on(log: EventLog, world: World, header: ev.RunStarted, each: TaskDone | None) -> int:
    done = last_completed(log)
    position = log.position_at_task(done)
    with Snapshots(log, "state", STATE_VERSION) as snapshots:
        journal = Journal(
            log,
            state=state_at_position(log, position, snapshots),
            after=position,
            reuse=world.config.reuse,
        )
        setting = setting_of(header, world.config)
        gateway = Gateway(journal, header.model["fingerprint"], world.model)
        executions = LiveExecutions(
            journal, setting, host=world.host, benchmark=world.benchmark, gateway=gateway
        )
        run = assemble(journal, header, world.config, executions, gateway, world.embedder)
        for index, task in enumerate(world.tasks[done:], start=done + 1):
            run_task(run, header.run, index, task)
            if index % SNAPSHOT_TASKS == 0:
                snapshots.put(log.head().position, dump(run.state))
            if each is not None:
                each(index, task, run)
        finish_run(run, header.run, len(world.tasks))
    return len(world.tasks) - done


def setting_of(header: ev.RunStarted, config: Config) -> Setting:
    """What all executions of the run share."""
    sampling = Sampling(
        temperature=config.sampling.temperature,
        top_p=config.sampling.top_p,
        max_tokens=config.sampling.max_tokens,
        seed=config.method.seed,
    )
    return Setting(
        model=header.model["fingerprint"],
        host=header.host,
        benchmark=header.benchmark,
        sampling=sampling,
    )


def assemble(
    journal: Journal,
    header: ev.RunStarted,
    config: Config,
    executions: Executions,
    gateway: Gateway,
    embedder: Embedder | None,
) -> Run:
    """A run over ``journal``, live or offline."""
    decider = Decider(
        gateway=gateway,
        seed=config.method.seed,
        temperature=config.sampling.decision_temperature,
        top_p=config.sampling.top_p,
        attempts=config.method.attempts,
    )
    return Run(
        journal=journal,
        settings=config.method,
        roles=tuple(name for name, _ in header.host["roles"]),
        executions=executions,
        decider=decider,
        embeddings=Embeddings(journal, header.embedder["fingerprint"], embedder),
    )


def finish_run(run: Run, run_id: str, tasks: int) -> None:
    """Close a completed stream with the mean of its original scores."""
    history = run.state.history
    scores = [history[history.order[index]].score or 0.0 for index in range(1, tasks + 1)]
    last = run.journal.log.find(f"task:{tasks}")
    assert last is not None
    run.journal.end_task()
    run.emit(
        ev.RunFinished(run=run_id, tasks=tasks, mean_score=round(fsum(scores) / tasks, 9)),
        last.event_id,
    )
    run.journal.end()


@attrs.frozen(kw_only=True)
class Replayed:
    """What an offline replay found: everything recorded was derived again.

    ``agreed`` conclusions over ``tasks`` completed tasks; ``finished`` is false for a log that
    ends inside its stream.
    """

    agreed: int
    tasks: int
    finished: bool


def replay_offline(path: Path) -> Replayed:
    """Derive every conclusion of a log again from its observations, without any model.

    Raises:
        Divergence: a conclusion differs; names the event, the field and both values.
        BadInput: the log was decided by other rules than these.
    """
    with EventLog.open(path) as log:
        header = header_of(log)
        if header.decision_version != DECISION_VERSION:
            raise BadInput(
                f"{path}: was decided by version {header.decision_version} of the rules, this is "
                f"version {DECISION_VERSION}; replay it with the release that recorded it"
            )
        config = parse_config(header.config, f"{path} (recorded configuration)")
        journal = Journal(log, state=State(), offline=True, reuse=config.reuse)
        gateway = Gateway(journal, header.model["fingerprint"], None)
        executions = RecordedExecutions(journal, setting_of(header, config))
        run = assemble(journal, header, config, executions, gateway, None)
        finished = False
        try:
            for index in range(1, header.tasks + 1):
                run_task(run, header.run, index, None)
            finish_run(run, header.run, header.tasks)
            finished = True
        except EndOfLog:
            pass
        return Replayed(agreed=journal.confirmed, tasks=last_completed(log), finished=finished)
