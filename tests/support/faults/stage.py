"""What a fault is, the run it befalls, and how a try of it is judged."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import attrs
from lively import TASKS, TOPICS, quick_folder, rich_seed
from processes import story
from scripted import stream_file

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import DiscernmemError
from discernmem.replayers.verification import verify_run

from .users import Mishap, Seen, call

FEWER = {"theta": -1.0, "candidates": 2, "rounds": 2, "attempts": 2, "k_inj": 2}
"""Method parameters of a small run."""


@attrs.frozen(kw_only=True)
class Calm:
    """The undisturbed run: its log and the story all disturbed ones must come to."""

    folder: Path
    seed: int
    log: Path
    events: tuple[tuple[Any, ...], ...]

    @property
    def length(self) -> int:
        """How many events it has."""
        return len(self.events)

    def begin(self, log: Path, *mishaps: Mishap) -> Seen:
        """`discernmem run` on ``log``."""
        return call(self.command(log), self.seed, *mishaps)

    def command(self, log: Path) -> list[str | Path]:
        """The command that records the run on ``log``."""
        return ["run", "--config", self.folder / "run.toml", "--", log]

    def go_on(self, log: Path, *mishaps: Mishap) -> Seen:
        """What a user does after a stop: `discernmem resume`, or `run` if nothing had begun."""
        if not log.exists() or not _length(log):
            return self.begin(log, *mishaps)
        return call(["resume", "--", log], self.seed, *mishaps)

    def ask(self, command: str, log: Path, *mishaps: Mishap) -> Seen:
        """A command that only reads, given as words before the log: ``why m1``."""
        return call([*command.split(), "--", log], self.seed, *mishaps)

    def lost(self, log: Path, acknowledged: int) -> int:
        """How many of the first ``acknowledged`` events ``log`` does not hold as they were."""
        kept = story(log) if log.exists() else []
        if kept != list(self.events[: len(kept)]):
            return max(1, sum(a != b for a, b in zip(kept, self.events, strict=False)))
        return max(0, acknowledged - len(kept))

    def copy_to(self, log: Path) -> Path:
        """A copy of the finished log and its head."""
        shutil.copy(self.log, log)
        shutil.copy(f"{self.log}.head", f"{log}.head")
        return log

    def is_whole(self, log: Path) -> bool:
        """Whether ``log`` tells the story of the undisturbed run and is sound."""
        return story(log) == list(self.events) and verify_run(log).ok


def _length(log: Path) -> int:
    with EventLog.open(log) as opened:
        return opened.head().position


@attrs.frozen(kw_only=True)
class Trial:
    """What one try of a fault came to.

    ``told`` is what the user saw; ``survived`` whether, after the remedy, the log told the story of
    the undisturbed run and was sound; ``lost`` how many acknowledged events were gone that the
    fault itself had not destroyed; ``why`` says what went wrong, if anything did.
    """

    told: str
    lost: int
    why: str = ""

    @property
    def survived(self) -> bool:
        """Whether nothing went wrong."""
        return not self.why and not self.lost


class Failed(Exception):
    """A try of a fault that did not go as it must; says what went wrong."""


def require(holds: bool, wrong: str) -> None:
    """Fail the try unless something holds.

    Raises:
        Failed: it does not.
    """
    if not holds:
        raise Failed(wrong)


def require_told(seen: Seen, status: int) -> None:
    """Require that a process ended with this exit status and told its user why in one line.

    Raises:
        Failed: it did not.
    """
    require(seen.status == status, f"exit status {seen.status}: {seen.printed[-1000:]}")
    require(bool(seen.complaint), f"not told in one line: {seen.printed[-1000:]}")


@attrs.frozen(kw_only=True)
class Scene:
    """Where a fault is tried once: an empty folder, chance, and which try it is, from 0."""

    calm: Calm
    folder: Path
    rng: Random
    number: int

    @property
    def log(self) -> Path:
        """The log that is disturbed."""
        return self.folder / "run.db"

    def place(self) -> int:
        """An event of the run, not among its last ones."""
        return self.rng.randrange(1, self.calm.length - 60)

    def told(self, seen: Seen) -> str:
        """What the user was told, without the part of it that differs from try to try."""
        return re.sub(r"\b\d+\b", "N", seen.complaint.replace(f"{self.folder}/", ""))

    def begin(self, *mishaps: Mishap) -> Seen:
        """`discernmem run`."""
        return self.calm.begin(self.log, *mishaps)

    def go_on(self, *mishaps: Mishap) -> Seen:
        """`discernmem resume`, or `run` if nothing had begun."""
        return self.calm.go_on(self.log, *mishaps)

    def ask(self, command: str, *mishaps: Mishap) -> Seen:
        """A command that only reads."""
        return self.calm.ask(command, self.log, *mishaps)

    def killed_by(self, mishap: Mishap, by: signal.Signals = signal.SIGKILL) -> Seen:
        """`go_on` that must be killed.

        Raises:
            Failed: it was not.
        """
        seen = self.go_on(mishap)
        require(seen.status == -by, f"not killed: {seen.status} {seen.printed[-500:]}")
        return seen

    def resumed(self, told: str, acknowledged: int) -> Trial:
        """Judge the log: nothing acknowledged is lost, and resumed it is the undisturbed one.

        Raises:
            Failed: it cannot be resumed, or is another one.
        """
        return resumed(self.calm, self.log, told, acknowledged)


Attempt = Callable[[Scene], Trial]
"""Tries a fault once."""


@attrs.frozen(kw_only=True)
class Fault:
    """A fault, with how many tries it is given in the full campaign and in the short one.

    ``full`` is None for a try at every event of the undisturbed run. ``reuse`` says on which
    undisturbed run it is tried.
    """

    name: str
    attempt: Attempt
    full: int | None
    short: int
    reuse: bool = True

    def numbers(self, calm: Calm, *, full: bool) -> list[int]:
        """The tries to make; those of the short campaign are among those of the full one."""
        everything = range(calm.length if self.full is None else self.full)
        if full:
            return list(everything)
        return sorted(Random(self.name).sample(everything, min(self.short, len(everything))))

    def try_all(self, calm: Calm, *, full: bool) -> list[Trial]:
        """All tries of one campaign, on as many processors as there are."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(partial(self.try_once, calm), self.numbers(calm, full=full)))

    def try_once(self, calm: Calm, number: int) -> Trial:
        """One try, in a folder of its own."""
        rng = Random(f"{self.name} {number}")
        with quick_folder() as folder:
            folder.chmod(0o755)
            scene = Scene(calm=calm, folder=folder, rng=rng, number=number)
            try:
                return self.attempt(scene)
            except (Failed, DiscernmemError) as failed:
                return Trial(told="", lost=0, why=f"try {number}: {failed}")


def resumed(calm: Calm, log: Path, told: str, acknowledged: int) -> Trial:
    """As `Scene.resumed`, wherever the log is."""
    lost = calm.lost(log, acknowledged)
    seen = calm.go_on(log)
    require(seen.status == 0, f"not resumed: {seen.printed[-500:]}")
    require(calm.is_whole(log), f"another log than the undisturbed one: {differs(calm, log)}")
    return Trial(told=told, lost=lost)


def differs(calm: Calm, log: Path) -> str:
    """Where a log leaves the story of the undisturbed run, or what is not sound in it."""
    events = story(log)
    for mine, theirs in zip(events, calm.events, strict=False):
        if mine != theirs:
            return f"event {mine[0]} is {mine[4:]}, was {theirs[4:]}"
    if len(events) != calm.length:
        return f"{len(events)} events, were {calm.length}"
    return "; ".join(str(problem) for problem in verify_run(log).problems)


@contextmanager
def undisturbed(*, reuse: bool = True) -> Iterator[Calm]:
    """Record the run that everything is compared with."""
    with quick_folder() as folder:
        folder.chmod(0o755)
        seed = rich_seed()
        questions = [
            f"What about {TOPICS[number % len(TOPICS)]} in question {number}?"
            for number in range(1, TASKS + 1)
        ]
        stream = stream_file(folder / "stream.jsonl", questions)
        table = [
            f"reuse = {json.dumps(reuse)}",
            f"benchmark = {{ name = 'reading', source = {json.dumps(str(stream))} }}",
            "model = { name = 'lively' }",
            "embedder = { name = 'bag' }",
            "[method]",
            *(f"{name} = {value}" for name, value in FEWER.items()),
        ]
        (folder / "run.toml").write_text("\n".join(table))
        calm = Calm(folder=folder, seed=seed, log=folder / "calm.db", events=())
        seen = calm.begin(calm.log)
        require(seen.status == 0, seen.printed)
        yield attrs.evolve(calm, events=tuple(story(calm.log)))
