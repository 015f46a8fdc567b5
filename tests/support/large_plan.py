"""How large a generated log is, and how long each task must be for it to come out exactly so."""

from __future__ import annotations

import attrs
from lively import Dice
from staged_log import StagedLog

from discernmem.eventlog import digest
from discernmem.eventlog import events as ev
from discernmem.replayers.benchmarks.base import Task

QUIET = 12
"""Tasks at the end in which nothing surprising happens, so that the counts come out exactly."""

PASSES = 40
"""The most passes of the team through one task, but for the last one."""

LAST = 14
"""Events of the last task and the end of the run besides the team's turns."""

SPARE_BLOBS = 30
"""Contents left to the last task besides its share."""


@attrs.frozen(kw_only=True)
class Scale:
    """How much a log holds, all of it exact: the blobs are distinct contents."""

    tasks: int
    memories: int
    events: int
    blobs: int

    def scaled(self, share: float) -> Scale:
        """The same proportions, smaller."""
        return Scale(**{name: round(value * share) for name, value in attrs.asdict(self).items()})


FULL = Scale(tasks=7267, memories=5632, events=1_000_000, blobs=100_000)
"""The longest stream and the largest store of the paper."""


@attrs.define
class Plan:
    """How long the present task is and what may happen in it, so that the counts come out.

    ``passes`` of the team make one episode on it; ``wanted`` memories should exist after it;
    ``contents`` is how many distinct blobs there should be before its last ones; ``proposed``
    counts the rules extracted from it. ``rules`` are the bodies the team of the present episode has
    read.
    """

    dice: Dice
    scale: Scale
    log: StagedLog = attrs.field(init=False)
    memories: int = attrs.field(default=0, init=False)
    index: int = attrs.field(default=0, init=False)
    text: ev.BlobRef = attrs.field(default=ev.BlobRef(""), init=False)
    passes: int = attrs.field(default=1, init=False)
    odd: bool = attrs.field(default=False, init=False)
    wanted: int = attrs.field(default=0, init=False)
    proposed: int = attrs.field(default=0, init=False)
    contents: int = attrs.field(default=0, init=False)
    rules: tuple[str, ...] = attrs.field(default=(), init=False)

    @property
    def last(self) -> bool:
        """Whether this is the last task, which must make up for all before."""
        return self.index == self.scale.tasks

    @property
    def quiet(self) -> bool:
        """Whether no memory is supplied."""
        return self.index > self.scale.tasks - QUIET

    def begin(self, index: int, task: Task, memories: int) -> None:
        """Plan a task; ``memories`` exist already."""
        self.index, self.memories, self.proposed = index, memories, 0
        self.text = ev.BlobRef(digest(task.text.encode()))
        tasks = self.scale.tasks
        self.wanted = min(round(self.scale.memories * index / (tasks - QUIET)), self.scale.memories)
        # The trajectory and the contexts of the last task come after all that can be varied.
        spare = 2 if self.last else SPARE_BLOBS
        self.contents = (self.scale.blobs - spare) * index // tasks
        room = self.scale.events * index // tasks - self.log.events
        if self.last:
            self.passes, odd = divmod(room - LAST, 2)
            self.odd = bool(odd)
            assert self.passes > 0, "the story left no event for the last task"
        else:
            others, episodes = (14, 1.0) if self.quiet else (48, 2.4)
            self.passes = min(max(round((room - others) / (2 * episodes)), 2), PASSES)

    def propose(self, eager: bool) -> bool:
        """Whether to propose another rule, if too few were and the dice are ``eager``."""
        proposes = self.memories + self.proposed < self.wanted and (eager or self.quiet)
        self.proposed += proposes
        return proposes

    def fresh(self) -> bool:
        """Whether another distinct content is due."""
        return len(self.log.known) < self.contents
