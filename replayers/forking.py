"""What if: a run goes on from one of its tasks under another configuration, in a log of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from ..eventlog import events as ev
from ..eventlog.errors import BadInput
from ..eventlog.forking import copy_prefix
from ..eventlog.log import Draft, EventLog
from ..projections.timeline import Timeline, completed_position
from .config import Config, parse_config, with_options
from .headers import segments
from .origin import Origin
from .progress import Listener
from .session import Done, TaskDone, go_on
from .world import World, open_world_of

Opener = Callable[[Config, ev.RunStarted], World]


@attrs.frozen(kw_only=True)
class Branch:
    """Where a fork leaves its origin, and what is different from there on.

    ``changed`` holds configuration values by their dotted names; it may be empty.
    """

    origin: Path
    at: int
    changed: Mapping[str, Any]


def fork(
    branch: Branch,
    path: Path,
    *,
    open_: Opener = open_world_of,
    begin: Callable[[World, int], None] | None = None,
    until: int | None = None,
    each: TaskDone | None = None,
    listener: Listener | None = None,
) -> Done:
    """Copy a run up to a task into a new log at ``path`` and go on there.

    What the origin recorded is served from it, also of its later tasks; the world is asked only
    what is new. Without a change nothing is, and every conclusion is the same.

    Raises:
        BadInput: there is no such task, ``until`` is before it, the configuration cannot follow on
            that past, or ``path`` is taken; nothing is left there.
        Infrastructure: the world failed; what was done is kept, `resume` goes on from it.
    """
    with EventLog.open(branch.origin) as origin:
        position = completed_position(origin, branch.at)
        if until is not None and until < branch.at:
            raise BadInput(f"{branch.origin}: a fork at task {branch.at} cannot stop at {until}")
        stretch = segments(origin)[-1]
        if branch.at < stretch.first - 1:
            raise BadInput(
                f"{branch.origin}: is itself a fork from task {stretch.first - 1} on; fork it at "
                "that or a later task, or fork the log it came from"
            )
        header = stretch.header
        table = with_options(header.config, branch.changed)
        config = parse_config(table, f"{branch.origin} (recorded configuration and options)")
        if path.exists():
            raise BadInput(f"{path} exists; a fork needs a new file")
        world = open_(config, header)
        _require_past(origin, position, branch.at, world)
        forked = _forked(branch, path, origin, position, header, world)
        with copy_prefix(origin, position, path, Draft(event=forked, actor="fork")) as log:
            if begin is not None:
                begin(world, branch.at)
            return go_on(
                log,
                world,
                forked,
                sources=(Origin(origin),),
                until=until,
                each=each,
                listener=listener,
            )


def _forked(
    branch: Branch,
    path: Path,
    origin: EventLog,
    position: int,
    header: ev.RunStarted,
    world: World,
) -> ev.RunForked:
    was = header.config
    return ev.RunForked(
        **{**vars(world.header()), "run": header.run},
        origin=origin.log_id,
        position=position,
        hash=origin.head(position).hash,
        path=_way(branch.origin, path),
        changed={
            name: value for name, value in branch.changed.items() if _value(was, name) != value
        },
    )


def _way(origin: Path, path: Path) -> str:
    """Where the origin is, seen from the fork: found again wherever the two are moved together."""
    way = os.path.relpath(origin.resolve(), path.resolve().parent)
    try:
        way.encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"{origin}: its name is not UTF-8 and cannot be recorded; rename it"
        ) from None
    return way


def _value(table: Mapping[str, Any], dotted: str) -> Any:
    value: Any = table
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _require_past(origin: EventLog, position: int, at: int, world: World) -> None:
    """Refuse a world in which the copied part could not have happened."""
    if at > len(world.tasks):
        raise BadInput(
            f"{origin.path}: the stream now ends at task {len(world.tasks)}, before {at}"
        )
    for index, task in enumerate(world.tasks[:at], start=1):
        started = origin.find(f"task:{index}")
        assert started is not None
        event = started.event
        assert isinstance(event, ev.TaskStarted)
        if (event.task, event.domain, origin.text(event.text)) != (task.id, task.domain, task.text):
            raise BadInput(
                f"{origin.path}: task {index} was {event.task} and is another one now; "
                "a fork keeps the tasks it has done"
            )
    roles = set(world.host.roles)
    with Timeline(origin) as timeline:
        memories = timeline.state(position).store.ordered()
    for memory in memories:
        if memory.owner not in roles:
            raise BadInput(
                f"{origin.path}: {memory.id} belongs to {memory.owner}, a role that host "
                f"{world.host.name} does not have"
            )
