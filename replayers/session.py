"""A run from its first event to its last: started, and resumed after anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from math import fsum
from pathlib import Path

import attrs

from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.lock import WriterLock
from ..eventlog.log import Draft, EventLog
from ..projections.timeline import Timeline, last_completed
from .benchmarks.base import Task
from .config import Config, parse_config
from .cycle import run_task
from .deciding import Decider
from .embeddings import Embeddings
from .executions import Executions, LiveExecutions, Sampling, Setting
from .gateway import Gateway
from .headers import differing_world, header_of
from .journal import Journal
from .models.base import Embedder
from .origin import Source, origin_of
from .overriding import carry_out_overrides
from .progress import Listener, RunEnded, run_begun, task_finished
from .run import Run
from .world import World, open_world, open_world_of

CATCH_UP_TASKS = 100
"""Tasks after which a live run brings the side file up to date."""


@attrs.frozen(kw_only=True)
class Done:
    """What was done now: tasks completed, observations asked of the world and of other logs.

    ``asked`` and ``served`` count by type of event; ``finished_before`` says that there was nothing
    to do any more.
    """

    tasks: int = 0
    finished_before: bool = False
    asked: Mapping[str, int] = attrs.field(factory=dict)
    served: Mapping[str, int] = attrs.field(factory=dict)


TaskDone = Callable[[int, Task, Run], None]
"""Called after each completed task with its index, the task and the run."""


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


def start(
    path: Path,
    world: World,
    *,
    sources: Sequence[Source] = (),
    until: int | None = None,
    each: TaskDone | None = None,
    listener: Listener | None = None,
) -> None:
    """Record a new run at ``path`` to its end, or up to task ``until``.

    What ``sources`` hold is not asked of the world. A log without any event, left by a start that
    was killed, is taken over.

    Raises:
        BadInput: ``path`` holds a run already or cannot be created.
        Infrastructure: the world failed; what was done is kept, `resume` goes on from it.
    """
    header = world.header()
    require_free(path)
    with _empty_log(path, header.run) as log:
        log.append([Draft(event=header, actor="run")], expected=0)
        go_on(log, world, header, sources=sources, until=until, each=each, listener=listener)


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
    open_: Callable[[Config], World] | None = None,
    origin: Path | None = None,
    alone: bool = False,
    sources: Sequence[Source] = (),
    begin: Callable[[World, int], None] | None = None,
    until: int | None = None,
    each: TaskDone | None = None,
    listener: Listener | None = None,
) -> Done:
    """Go on with the run at ``path``.

    The open task is run again over its recorded part: what is recorded is served and compared.
    A finished run is left as it is, and nothing is opened for it.

    Args:
        path: the log.
        open_: opens the world of a configuration, in place of the usual way.
        origin: where the log is now that this one was forked from, if it is a fork.
        alone: go on with a fork without its origin.
        sources: more logs to ask before the world.
        begin: called with the world and the number of tasks done before.
        until: stop after this task; None goes on to the end of the stream.
        each: called after each task.
        listener: is told what is done.

    Raises:
        BadInput: the world now is not the one the run was started in, ``until`` is behind, or the
            origin of a fork is not there.
        Infrastructure: the world failed again; `resume` can be repeated.
    """
    with EventLog.open(path, write=True) as log:
        header = header_of(log)
        if is_finished(log):
            return Done(finished_before=True)
        done = last_completed(log)
        if until is not None and until < done:
            raise BadInput(f"{path}: task {done} is completed already; stop at that or a later one")
        found = nullcontext(None) if alone else origin_of(path, header, origin)
        with found as source:
            usual = open_world if source is None else partial(open_world_of, header=header)
            world = (open_ or usual)(
                parse_config(header.config, f"{path} (recorded configuration)")
            )
            _require_same(path, header, world.header())
            if begin is not None:
                begin(world, done)
            known = sources if source is None else (source, *sources)
            return go_on(
                log, world, header, sources=known, until=until, each=each, listener=listener
            )


def is_finished(log: EventLog) -> bool:
    """Whether the run of a log reached the end of its stream."""
    newest = log.at(log.head().position)
    return newest is not None and newest.type == "RunFinished"


def _require_same(path: Path, was: ev.RunStarted, now: ev.RunStarted) -> None:
    for name, (old, new) in differing_world(was, now).items():
        raise BadInput(
            f"{path}: cannot resume, the {name.replace('.', ' ')} was {_short(old)} and is now "
            f"{_short(new)}; resume where the run was started, or start a new run"
        )


def _short(value: object, limit: int = 80) -> str:
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def go_on(
    log: EventLog,
    world: World,
    header: ev.RunStarted,
    *,
    sources: Sequence[Source] = (),
    until: int | None = None,
    each: TaskDone | None = None,
    listener: Listener | None = None,
) -> Done:
    """Do the tasks that are not completed.

    Args:
        log: open to write.
        world: what is asked.
        header: the header the run goes on under.
        sources: other logs that are asked in turn before the world.
        until: stop after this task; None goes on to the end of the stream.
        each: called after each task.
        listener: is told what is done.
    """
    done = last_completed(log)
    position = log.position_at_task(done)
    with Timeline(log) as timeline:
        journal = Journal(
            log,
            state=timeline.state(position),
            after=position,
            reuse=world.config.reuse,
            sources=sources,
            listener=listener,
        )
        setting = setting_of(header, world.config)
        gateway = Gateway(journal, header.model["fingerprint"], world.model)
        executions = LiveExecutions(
            journal, setting, host=world.host, benchmark=world.benchmark, gateway=gateway
        )
        run = assemble(journal, header, world.config, executions, gateway, world.embedder)
        tasks = world.tasks[:until]
        try:
            if listener is not None:
                listener.hear(run_begun(log, done, len(tasks)))
            for index, task in enumerate(tasks[done:], start=done + 1):
                carry_out_overrides(run, index)
                run_task(run, header.run, index, task)
                if index % CATCH_UP_TASKS == 0:
                    timeline.catch_up()
                if each is not None:
                    each(index, task, run)
                if listener is not None:
                    listener.hear(task_finished(log, index))
            if len(tasks) == len(world.tasks):
                finish_run(run, header.run, len(tasks))
        finally:
            journal.tell(RunEnded())
    return Done(tasks=len(tasks) - done, asked=journal.asked, served=journal.served)


def setting_of(header: ev.RunStarted, config: Config) -> Setting:
    """What all executions of the run share."""
    sampling = Sampling(
        temperature=config.sampling.temperature,
        top_p=config.sampling.top_p,
        max_tokens=config.sampling.max_tokens,
        seed=config.method.seed,
        actor_temperature=config.sampling.actor_temperature,
    )
    return Setting(
        model=header.model["fingerprint"],
        host=header.host,
        benchmark=header.benchmark,
        sampling=sampling,
        conditions=config.method.uses_meta_memory,
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
    carry_out_overrides(run, tasks + 1)
    history = run.state.history
    scores = [history[history.order[index]].score or 0.0 for index in range(1, tasks + 1)]
    last = run.journal.log.find(f"task:{tasks}")
    assert last is not None
    run.emit(
        ev.RunFinished(run=run_id, tasks=tasks, mean_score=round(fsum(scores) / tasks, 9)),
        last.event_id,
    )
    run.journal.end()
