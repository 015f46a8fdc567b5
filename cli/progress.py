"""What a command says while it works: lines on a terminal, JSON lines for machines, or nothing."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from ..eventlog.closing import Closing
from .drawing import Block, Picture, drawable
from .stopping import Stop

if TYPE_CHECKING:
    from ..replayers.progress import Notice
    from .metering import Meter

_STOPPING: Final = "stops once this answer is there, Ctrl-C again stops at once"


@attrs.define
class Going:
    """The command under way, as `main` knows it when it ends otherwise than well.

    Attributes:
        log_json: whether what it does is told in JSON lines.
        remedy: says where it stands, and how to go on.
        stop: what its signals do.
        clock: seconds from any beginning.
    """

    log_json: bool = False
    remedy: Callable[[], str] = lambda: "nothing was changed, run it again"
    stop: Stop = attrs.field(factory=Stop)
    clock: Callable[[], float] = time.monotonic

    def tell(self, event: str, **facts: Any) -> None:
        """One JSON line on standard error, if these are wanted."""
        if self.log_json:
            stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = json.dumps({"event": event, "time": stamp, **facts})
            # Nobody has to read to the end for the work to be done.
            with suppress(OSError):
                click.echo(line, err=True)

    def draw(self, picture: Callable[[], Picture | None]) -> Block | None:
        """Begin to draw, where somebody watches."""
        if self.log_json or not drawable(sys.stderr):
            return None
        return Block(picture, sys.stderr)


def going() -> Going:
    """The command under way."""
    return click.get_current_context().ensure_object(Going)


def _wanted(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value:
        context.ensure_object(Going).log_json = True


LOG_JSON = click.option(
    "--log-json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_wanted,
    help="Say what is done in JSON, one object a line, on standard error.",
)


class Watch(Closing):
    """Listens to runs that are recorded, or replayed, and shows how they go.

    Args:
        recording: whether logs are written, so that a signal waits for a clean boundary.
        label: what stands before each task, for example which run of a sweep it is.
        meter: goes on from an earlier run.
    """

    def __init__(
        self, *, recording: bool = True, label: str = "", meter: Meter | None = None
    ) -> None:
        from .metering import Meter

        self.going = going()
        self.meter = meter or Meter(self.going.clock)
        self.facts: Mapping[str, Any] = {}
        self._recording = recording
        self._label = label
        self._began = self.going.clock()
        self._sums = dict.fromkeys(_SUMMED, 0)
        self.going.stop.check()
        self._block = self.going.draw(self._picture)

    def close(self) -> None:
        """Show nothing any more."""
        if self._block is not None:
            self._block.close()
            self._block = None
        if self._recording:
            self.going.stop.closed()

    def hear(self, notice: Notice) -> None:
        """Count a notice and show it; stop the run there if a signal asked for it."""
        self.meter.hear(notice)
        if self.going.log_json:
            self._tell(notice)
        if self._recording:
            self.going.stop.hear(notice)

    # -- for people ----------------------------------------------------------------------------

    def _picture(self) -> Picture | None:
        meter = self.meter
        if not meter.begun:
            opening = "opens the log" if not self._recording else "opens what the run asks"
            return Picture(words=tuple(filter(None, (self._label, opening))), done=0, of=0)
        place = "opens the next task" if meter.behind < meter.of else "closes the log"
        if meter.index:
            place = f"task {meter.index} of {meter.tasks} {meter.task}"
        execution = meter.execution
        doing = ": ".join(filter(None, (execution.words if execution else "", meter.asking)))
        if self.going.stop.asked:
            doing = _STOPPING
        return Picture(
            words=tuple(filter(None, (self._label, place, doing))),
            done=meter.behind,
            of=meter.of,
            count=f"{meter.behind} of {meter.of} tasks",
            facts=tuple(self._counts()),
        )

    def _counts(self) -> list[str]:
        meter, facts = self.meter, []
        left = meter.executions_left if self._recording else None
        seconds = meter.seconds_left if self._recording else meter.seconds_by_task
        speed = meter.tokens_per_second
        if left:
            facts.append(f"about {_executions(left)} left")
        if speed is not None:
            facts.append(f"{speed:.0f} tokens/s")
        if seconds is not None and seconds >= 1:
            facts.append(f"about {duration(seconds)} left")
        if self._recording and meter.executions_saved:
            facts.append(f"{_executions(meter.executions_saved)} saved")
        return facts

    # -- for machines --------------------------------------------------------------------------

    def _tell(self, notice: Notice) -> None:
        from ..replayers.progress import Observed, RunBegun, TaskBegun, TaskFinished, TaskReplayed

        meter, now = self.meter, self.going.clock()
        tell = self.going.tell
        match notice:
            case RunBegun():
                tell("run_started", tasks=notice.tasks, done=notice.done, **self.facts)
            case TaskBegun():
                tell("task_started", index=notice.index, of=meter.tasks, task=notice.task)
            case Observed(kind="ExecutionFinished") if self._recording:
                self._tell_execution(notice.saved, now)
            case TaskFinished(row):
                spent, speed = meter.open, None
                if spent.waited > 0:
                    speed = round(spent.asked_written / spent.waited, 2)
                counts = {name: getattr(row, name) for name in _SUMMED}
                for name, count in counts.items():
                    self._sums[name] += count
                tell(
                    "task_done",
                    index=row.index,
                    task=row.task,
                    score=row.score,
                    **counts,
                    tokens_per_second=speed,
                    seconds=round(now - spent.began, 3),
                    executions_left=meter.executions_left,
                    seconds_left=_rounded(meter.seconds_left),
                )
            case TaskReplayed():
                tell(
                    "task_done",
                    index=notice.index,
                    agreed=notice.agreed,
                    seconds=round(now - meter.open.began, 3),
                    seconds_left=_rounded(meter.seconds_by_task),
                )

    def _tell_execution(self, saved: bool, now: float) -> None:
        meter, spent = self.meter, self.meter.playing
        begun = meter.played
        if begun is None:
            return
        self.going.tell(
            "execution_saved" if saved else "execution_done",
            index=meter.index,
            task=begun.task,
            memories=list(begun.memories),
            why=begun.why or "score",
            prompt_tokens=spent.read,
            completion_tokens=spent.written,
            seconds=round(now - spent.began, 3),
        )

    def finished(self, **facts: Any) -> None:
        """Say that what was to be done is done, with what it cost."""
        seconds = round(self.going.clock() - self._began, 3)
        sums = self._sums if self._recording else {}
        self.going.tell("finished", **facts, **sums, seconds=seconds)


_SUMMED: Final = ("executions_run", "executions_saved", "prompt_tokens", "completion_tokens")


def _executions(number: int) -> str:
    return f"{number:,} execution{'s' if number != 1 else ''}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


class Counted(Closing):
    """Shows how far something is that is counted, in steps that follow each other.

    Args:
        steps: name of each step to what it is in words.
        unit: what is counted, in the plural.
    """

    def __init__(self, steps: Mapping[str, str], unit: str) -> None:
        self._going = going()
        self._steps = dict(steps)
        self._unit = unit
        self._step, self._done, self._of = "", 0, 0
        self._ended = False
        self._began = self._step_began = self._going.clock()
        self._block = self._going.draw(self._picture)

    def close(self) -> None:
        """Show nothing any more."""
        if self._block is not None:
            self._block.close()
            self._block = None

    def told(self, step: str, done: int, of: int) -> None:
        """Take in how far a step is; stop here if a signal asked for it."""
        self._going.stop.check()
        new = step != self._step
        if new:
            self._step_began = self._going.clock()
            self._ended = False
            self._going.tell("step_started", step=step, of=of)
        if done == of and not self._ended:
            self._ended = True
            seconds = round(self._going.clock() - self._step_began, 3)
            self._going.tell("step_done", step=step, done=done, of=of, seconds=seconds)
        self._step, self._done, self._of = step, done, of
        if new and self._block is not None:
            # Even a step that is done in no time is seen.
            self._block.draw()

    def finished(self, **facts: Any) -> None:
        """Say that all is done."""
        seconds = round(self._going.clock() - self._began, 3)
        self._going.tell("finished", **facts, seconds=seconds)

    def _picture(self) -> Picture | None:
        if not self._step:
            return None
        counted = self._of > 1
        number = list(self._steps).index(self._step) + 1
        place = f"step {number} of {len(self._steps)}" if len(self._steps) > 1 else ""
        facts = []
        passed = self._going.clock() - self._step_began
        if counted and 0 < self._done < self._of and passed > 0:
            left = passed * (self._of - self._done) / self._done
            facts.append(f"about {duration(left)} left{' in this step' if place else ''}")
        return Picture(
            words=tuple(filter(None, (place, self._steps[self._step]))),
            done=self._done,
            of=self._of if counted else 0,
            count=f"{self._done:,} of {self._of:,} {self._unit}" if counted else "",
            facts=tuple(facts),
        )


def duration(seconds: float) -> str:
    """A length of time as people say it, in one unit or two: ``45 s``, ``3 h 20 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"
