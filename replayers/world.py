"""Everything outside the log that a run asks, and how it is opened."""

from __future__ import annotations

import platform
import sqlite3
from importlib import metadata
from typing import Any

import attrs
import orjson

from ..decisions.settings import DECISION_VERSION
from ..eventlog import events as ev
from ..eventlog.codec import canonical, digest, digest_json
from .benchmarks import open_benchmark
from .benchmarks.base import Benchmark, Task
from .config import Config, parse_config
from .hosts import open_host, require_facts
from .hosts.base import Host
from .models import open_embedder, open_model
from .models.base import Embedder, Model
from .models.deferred import DeferredEmbedder, DeferredModel, card_of
from .plugins import blaming


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
            "host": self.host.facts(self.benchmark),
            "benchmark": _facts(self.benchmark),
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
        model=model or _open_model(config),
        embedder=embedder or open_embedder(config.embedder.name),
        tasks=tasks,
    )


def open_world_of(config: Config, header: ev.RunStarted) -> World:
    """The world for going on after ``header``: what answered there is opened when it is asked.

    Where most is served from a log, a model may never be needed. One that ``config`` changes is
    opened at once.

    Raises:
        BadInput: as `open_world`.
        Infrastructure: as `open_world`. A recorded model that is gone or another one now raises it
            when it is asked.
    """
    was = parse_config(header.config, "the recorded configuration")
    model: Model | None = None
    embedder: Embedder | None = None
    if config.model == was.model:
        model = DeferredModel(card_of(header.model), lambda: _open_model(config))
    if config.embedder == was.embedder:
        embedder = DeferredEmbedder(
            card_of(header.embedder), lambda: open_embedder(config.embedder.name)
        )
    return open_world(config, model=model, embedder=embedder)


def _open_model(config: Config) -> Model:
    model = config.model
    return open_model(model.name, context=model.context, parallel=model.parallel)


def open_stream(config: Config) -> tuple[Host, Benchmark, tuple[Task, ...]]:
    """The team, the benchmark and the tasks of a run: all of its world that needs no model.

    Raises:
        BadInput: one of them is not usable as configured.
    """
    host = open_host(config.host)
    benchmark = open_benchmark(config.benchmark.name, config.benchmark.options)
    with blaming(f"host {config.host}"):
        require_facts(host, benchmark)
    with blaming(f"benchmark {config.benchmark.name}"):
        return host, benchmark, benchmark.tasks()[: config.tasks]


def _facts(benchmark: Benchmark) -> dict[str, Any]:
    """What the header says of a benchmark: with a search, how it may be searched too."""
    facts = dict(benchmark.facts)
    if benchmark.searcher is None:
        return facts
    return facts | {
        "searcher": dict(benchmark.searcher.facts),
        "searches": benchmark.searches,
        "passages": benchmark.passages,
    }


def software() -> dict[str, str]:
    """Versions of what computed the run, for people; no rule reads them."""
    return {
        "discernmem": metadata.version("discernmem"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
    }
