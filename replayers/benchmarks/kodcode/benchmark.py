"""The KodCode benchmark: which records are played, and in which sandbox they are judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import attrs
import orjson

from ....eventlog.errors import BadInput
from ....sandbox import Limits, grade
from ....sandbox.opening import open_way
from ...datasets import Manifest, Rows, make_manifest, read_manifest, read_rows, sequential, shared
from ..base import Benchmark, Task
from .episode import KodCodeEnvironment
from .records import COLUMNS, Problem, read_problems

DEMO = "demo"
HUB = "hub"

PUBLISHED = "hf:KodCode/KodCode-Light-RL-10K"
PUBLISHED_SHARE = 0.2
"""What the paper plays: a fifth of KodCode-Light-RL-10K, 2,000 problems."""

RULES = 1
"""Version of what decides a score here: the form of the task, the extraction, the verdict."""


class KodCodeBenchmark(Benchmark):
    """A stream of programming problems with hidden tests.

    Args:
        source: ``demo`` (40 problems of our own), ``hub`` (the data set that the paper plays), or
            any data set of such records that `read_rows` knows: a path or ``hf:OWNER/NAME``.
        share: the share of the records to draw, in an order that ``seed`` decides; None for all of
            them as they stand, and for ``hub`` a fifth.
        seed: decides which records are drawn, and their order.
        split: which split of the data set.
        manifest: the file of a manifest that says which records to play, in place of ``share``.
        sandbox: ``bubblewrap``, or ``none``, which the sandbox refuses to root.
        cpu_seconds: processor time that one grading may take.
        memory_mib: address space that a program may have, in MiB.

    Attributes:
        manifest: which records are played; `write_manifest` keeps it for other runs.

    Raises:
        BadInput: an option, a file or a record is not usable.
        Infrastructure: the data set cannot be fetched, or there is no sandbox on this machine.
    """

    name = "kodcode"
    protocol = "kodcode"

    def __init__(
        self,
        source: str | Path = DEMO,
        *,
        share: float | None = None,
        seed: int = 0,
        split: str = "train",
        manifest: str | Path = "",
        sandbox: str = "bubblewrap",
        cpu_seconds: int = Limits().cpu_seconds,
        memory_mib: int = Limits().memory_mib,
    ) -> None:
        _whole("seed", seed, 0)
        _whole("cpu_seconds", cpu_seconds, 1)
        _whole("memory_mib", memory_mib, 64)
        if not isinstance(source, str | Path) or not str(source):
            raise BadInput(f"source is {source!r}; give {DEMO}, {HUB}, hf:OWNER/NAME or a path")
        if manifest and share is not None:
            raise BadInput("share and manifest both say which records to play; give one of them")
        data = _rows(source, split)
        if manifest:
            self.manifest = read_manifest(Path(manifest))
        else:
            self.manifest = _drawn(data, PUBLISHED_SHARE if source == HUB else None, share, seed)
        problems = read_problems(self.manifest.rows(data))
        open_way(sandbox)
        limits = Limits(cpu_seconds=cpu_seconds, memory_mib=memory_mib)
        self._judge = partial(grade, limits=limits, isolation=sandbox)
        self._tasks = tuple(_task(problem) for problem in problems)
        self._facts: dict[str, Any] = {
            "source": self.manifest.source,
            "items": len(self._tasks),
            "digest": _digest(self._tasks),
            "manifest": self.manifest.facts,
            "sandbox": sandbox,
            "cpu_seconds": cpu_seconds,
            "memory_mib": memory_mib,
            "rules": RULES,
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """The stream, the sandbox with its limits, and a digest over the tasks and their tests."""
        return dict(self._facts)

    def tasks(self) -> tuple[Task, ...]:
        """The stream in the manifest's order; a task's domain is the record's subset."""
        return self._tasks

    def environment(self, task: Task) -> KodCodeEnvironment:
        """A fresh episode of this task."""
        return KodCodeEnvironment(task, self._judge)


def _whole(option: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{option} is {value!r}; give a whole number of at least {least}")


def _rows(source: str | Path, split: str) -> Rows:
    if source != DEMO:
        return read_rows(PUBLISHED if source == HUB else source, split=split, columns=COLUMNS)
    with resources.as_file(resources.files("discernmem.data") / "kodcode" / "demo.jsonl") as path:
        return attrs.evolve(read_rows(path, columns=COLUMNS), source=DEMO)


def _drawn(data: Rows, usual: float | None, share: float | None, seed: int) -> Manifest:
    part = usual if share is None else share
    size = len(data.rows)
    return make_manifest(data, sequential(size) if part is None else shared(size, part, seed))


def _digest(tasks: tuple[Task, ...]) -> str:
    plain = [attrs.asdict(task) for task in tasks]
    return hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()


# -- the task a team reads ---------------------------------------------------------------------


def _task(problem: Problem) -> Task:
    return Task(
        id=problem.id,
        domain=problem.domain,
        text=f"{problem.question}\n\n{_form(problem.names)}",
        data={"test": problem.test, "names": list(problem.names), "defect": problem.defect},
    )


def _form(names: tuple[str, ...]) -> str:
    form = "The solution is one Python module, given whole in one Python code block."
    return f"{form} It defines {', '.join(f'`{name}`' for name in names)}." if names else form
