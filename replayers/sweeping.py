"""Sweeps: one run per setting in a folder, each asking the logs of those before it first (App. C).

Every run is as complete as if it had been made alone: what it takes over from an earlier one is
recorded in its own log. So the logs of a folder can be verified, replayed and moved one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any, Final

import attrs

from ..decisions.settings import META_MEMORY, REPAIR_VALIDATION
from ..eventlog import files
from ..eventlog.closing import Closing
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog
from .config import Config, parse_config, with_options
from .headers import differing_config, header_of
from .origin import Source
from .progress import Listener
from .session import TaskDone, holds_run, is_finished, resume, start
from .world import World, open_stream, open_world

PLAN: Final = "sweep.json"
"""The file of a folder that says which runs belong there."""

_NAME_LIMIT: Final = 200
"""Bytes of a name: file systems take 255 with all endings."""


@attrs.frozen
class Axis:
    """A configuration value that varies, by its dotted name, and the values it takes."""

    key: str
    values: tuple[Any, ...]


PRESETS: Final[Mapping[str, Axis]] = {
    "rounds": Axis("method.rounds", (1, 2, 3, 4, 5)),
    "k_inj": Axis("method.k_inj", (0, 1, 2, 3)),
    "k_id": Axis("method.k_id", (0, 5, 10, 15, 20)),
    "ablations": Axis(
        "method.without",
        ((), (REPAIR_VALIDATION,), (META_MEMORY,), (META_MEMORY, REPAIR_VALIDATION)),
    ),
}
"""The paper's sweeps and its four ablation arms (§4.3, §4.4)."""


@attrs.frozen(kw_only=True)
class Planned:
    """A run of a sweep: its name, what is varied by dotted names, and its whole configuration."""

    name: str
    varied: Mapping[str, Any]
    config: Config

    def log(self, folder: Path) -> Path:
        """Where its log is."""
        return folder / f"{self.name}.db"


def plan(table: Mapping[str, Any], axes: Sequence[Axis], source: str) -> tuple[Planned, ...]:
    """The runs of a sweep: every combination of the values, those of the last axis first.

    Args:
        table: the configuration they share.
        axes: what varies.
        source: where the table comes from, for messages.

    Raises:
        BadInput: a configuration is none, a value varies twice, or two runs would have one name.
    """
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(f"{key} varies twice; give all its values at once")
    planned: dict[str, Planned] = {}
    for values in product(*(axis.values for axis in axes)):
        varied = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        name = _name(varied)
        if name in planned:
            raise BadInput(f"two runs of the sweep would be called {name}; give each value once")
        config = parse_config(with_options(table, varied), f"{source}, {name}")
        planned[name] = Planned(name=name, varied=varied, config=config)
    return tuple(planned.values())


def _name(varied: Mapping[str, Any]) -> str:
    name = ",".join(f"{key.removeprefix('method.')}={_word(v)}" for key, v in varied.items())
    name = re.sub(r"[^\w.+=,-]", "_", name)
    if len(name.encode()) > _NAME_LIMIT:
        raise BadInput(
            f"the name {name[:40]}… is too long for a file; vary fewer or shorter values"
        )
    return name


def _word(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_word, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


class Sweep(Closing):
    """The runs of a folder, to be made one after the other in the order of their plan.

    Args:
        folder: where the logs go; made if it is not there.
        planned: the runs.
        open_: opens the world of a configuration, in place of the usual way.

    Attributes:
        tasks: how many tasks each run has.

    Raises:
        BadInput: the folder holds a sweep of another plan, or a run that cannot be made.
    """

    def __init__(
        self,
        folder: Path,
        planned: Sequence[Planned],
        *,
        open_: Callable[[Config], World] | None = None,
    ) -> None:
        self._folder = folder
        self._planned = tuple(planned)
        self._done = 0
        self.tasks: tuple[int, ...] = ()
        self._world: World | None = None
        self._open = open_ or self._open_world
        self._logs = ExitStack()
        self._sources: list[Source] = []
        _require_plan(folder, self._planned)
        streams: list[tuple[Any, ...]] = []
        lengths: list[int] = []
        for each in self._planned:
            config = each.config
            stream = (config.host, config.benchmark, config.tasks)
            if stream not in streams:
                lengths.append(len(open_stream(config)[2]))
                streams.append(stream)
            self.tasks += (lengths[streams.index(stream)],)

    def close(self) -> None:
        """Close the logs that were open to be asked."""
        self._logs.close()

    def go_on(
        self,
        *,
        begin: Callable[[World, int], None] | None = None,
        each: TaskDone | None = None,
        listener: Listener | None = None,
    ) -> bool:
        """Make the next run of the plan: start it or go on with it; a finished one is left alone.

        Args:
            begin: called with the world and the number of tasks done before.
            each: called after each task.
            listener: is told what is done.

        Returns:
            whether there was anything to do.

        Raises:
            BadInput: as `session.start` and `session.resume`.
            Infrastructure: the world failed; what was done is kept, to be gone on with.
        """
        planned = self._planned[self._done]
        path = planned.log(self._folder)
        worked = True
        if not holds_run(path):
            world = self._open(planned.config)
            _write_plan(self._folder, self._planned)
            if begin is not None:
                begin(world, 0)
            start(path, world, sources=self._sources, each=each, listener=listener)
        elif finished(path):
            worked = False
        else:
            resume(
                path,
                open_=self._open,
                sources=self._sources,
                begin=begin,
                each=each,
                listener=listener,
            )
        self._done += 1
        self._sources.append(Source(self._logs.enter_context(EventLog.open(path))))
        return worked

    def _open_world(self, config: Config) -> World:
        """The world of a run; a model or an embedder that stays is not opened again."""
        last = self._world
        self._world = open_world(
            config,
            model=last.model if last and last.config.model == config.model else None,
            embedder=last.embedder if last and last.config.embedder == config.embedder else None,
        )
        return self._world


def finished(path: Path) -> bool:
    """Whether the run at ``path`` reached the end of its stream."""
    with EventLog.open(path) as log:
        return is_finished(log)


# -- the plan ----------------------------------------------------------------------------------


def _require_plan(folder: Path, planned: Sequence[Planned]) -> None:
    """Refuse a folder whose runs are others than those planned."""
    path = folder / PLAN
    if not path.exists():
        for each in planned:
            if holds_run(each.log(folder)):
                raise BadInput(
                    f"{each.log(folder)} is there, but no {PLAN} beside it; choose another folder"
                )
        return
    was = _read_plan(path)
    now = {each.name: each.config for each in planned}
    if list(was) != list(now):
        _refuse_change(folder, f"its runs are {', '.join(was)}, not {', '.join(now)}")
    for each in planned:
        changed = differing_config(was[each.name].table(), each.config.table())
        for name, (old, new) in changed.items():
            _refuse_change(folder, f"{name} of {each.name} was {old} and is {new}")
        log = each.log(folder)
        if holds_run(log) and _config_of(log) != each.config:
            raise BadInput(f"{log}: holds a run of another configuration; delete or move it")


def _refuse_change(folder: Path, how: str) -> None:
    raise BadInput(
        f"{folder}: was begun by another plan, {how}; sweep it by that plan, or another folder"
    )


def _config_of(path: Path) -> Config:
    with EventLog.open(path) as log:
        return parse_config(header_of(log).config, f"{path} (recorded configuration)")


def _read_plan(path: Path) -> dict[str, Config]:
    try:
        table = json.loads(path.read_text("utf-8"))
        runs = {str(run["name"]): dict(run["config"]) for run in table["runs"]}
    except (OSError, ValueError, TypeError, KeyError):
        raise BadInput(
            f"{path}: is no plan of a sweep; restore it or choose another folder"
        ) from None
    return {name: parse_config(config, f"{path}, {name}") for name, config in runs.items()}


def _write_plan(folder: Path, planned: Iterable[Planned]) -> None:
    path = folder / PLAN
    if path.exists():
        return
    runs = [{"name": each.name, "config": each.config.table()} for each in planned]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}; name a folder") from None
    with files.reported(path):
        files.replace_text(path, json.dumps({"runs": runs}, indent=2) + "\n")
