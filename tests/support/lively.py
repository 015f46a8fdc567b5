"""A scripted model that does everything: its answers are drawn by digest of what it is asked.

The same seed and prompt always get the same answer, so a run over it is as deterministic as one
over a greedy model, while rules are admitted, attached, scoped, repaired and retired.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import faiss
from scripted import ScriptedModel, scripted_world, stream_file

from discernmem.decisions.llm import DECISIONS
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.session import start
from discernmem.replayers.world import World

# On a busy machine the threads of a search over three rules wait longer than it takes.
faiss.omp_set_num_threads(1)

TASKS = 12
GARBAGE = "I would rather not say."
TOPICS = ("tea", "rivers", "birds", "clocks")


@attrs.frozen
class Dice:
    """Draws that depend on a seed and on what they are for, never on the order of drawing."""

    seed: int

    def roll(self, *about: str) -> float:
        """A number in [0, 1)."""
        return self.number(1 << 32, *about) / (1 << 32)

    def number(self, below: int, *about: str) -> int:
        key = "\0".join((str(self.seed), *about)).encode()
        return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % below


@attrs.frozen
class Lively:
    """The behaviours by purpose, all drawn with ``dice``."""

    dice: Dice

    def answer(self, role: str, prompt: str) -> str:
        if role == "assistant":
            return ("I think it is right", "It may be wrong")[self.dice.number(2, "hint", prompt)]
        luck = 0.6 if "<notes>" in prompt else 0.4
        return "right" if self.dice.roll("say", prompt) < luck else "wrong"

    def extraction(self, prompt: str) -> Any:
        number = self.dice.number(1000, "rule", prompt)
        topic = TOPICS[number % len(TOPICS)]
        stored = self.dice.roll("store", prompt) < 0.6
        return {
            "reason": "drawn",
            "store": stored,
            "rule": f"Check passage {number} about {topic} twice" if stored else "",
            "use_when": [f"a question about {topic}"] if stored else [],
            "avoid_when": ["nothing was asked"] if stored and number % 5 == 0 else [],
        }

    def identity(self, prompt: str) -> Any:
        listed = re.findall(r"^\[(m\d+)\]", prompt, re.MULTILINE)
        same = listed and self.dice.roll("same", prompt) < 0.5
        return {"reason": "drawn", "match": listed[0] if same else "none"}

    def selection(self, prompt: str) -> Any:
        listed = re.findall(r"^\[(m\d+)\]", prompt, re.MULTILINE)
        picked = [name for name in listed if self.dice.roll("pick", name, prompt) < 0.8]
        return {"reason": "drawn", "selected": picked}

    def scope(self, prompt: str) -> Any:
        number = self.dice.number(1000, "boundary", prompt)
        return {
            "reason": "drawn",
            "use": self.dice.roll("use", prompt) < 0.7,
            "avoid": self.dice.roll("avoid", prompt) < 0.15,
            "boundary": f"the question has {number} words" if number % 8 else "",
        }

    def diagnosis(self, prompt: str) -> Any:
        shown = list(dict.fromkeys(re.findall(r"\bwith:s\d+", prompt)))
        found = self.dice.roll("defect", prompt) < 0.85
        return {
            "reason": "drawn",
            "defect": "wrong_order" if found else "none",
            "description": "it skips the second look" if found else "",
            "cited": shown[:2] if found else [],
        }

    def generalisation(self, prompt: str) -> Any:
        topic = TOPICS[self.dice.number(4, "general", prompt)]
        return {"reason": "drawn", "use_when": [f"a passage names {topic}"]}

    def repair(self, prompt: str) -> Any:
        body = re.findall(r"^RULE:\n> (.+)$", prompt, re.MULTILINE)[0]
        shown = list(dict.fromkeys(re.findall(r"\bwith:s\d+", prompt)))
        edits = [
            {
                "correction": "the second look happens",
                "operation": "ADD",
                "anchor": body if self.dice.roll("anchor", str(n), prompt) < 0.85 else "absent",
                "text": f"and look again {self.dice.number(1000, 'edit', str(n), prompt)} times",
                "cited": shown[:1],
            }
            for n in range(2)
        ]
        silent = self.dice.roll("silent", prompt) < 0.1
        return {"reason": "drawn", "edits": [] if silent else edits}


class LivelyModel(ScriptedModel):
    """The lively behaviours, at times unusable, in JSON with its keys in either order."""

    def __init__(self, seed: int, *, reverse: bool = False) -> None:
        dice = Dice(seed)
        lively = Lively(dice)

        def told(purpose: str, behaviour: Any) -> Any:
            def say(prompt: str) -> str:
                if dice.roll("garbage", purpose, prompt) < 0.04:
                    return GARBAGE
                said = behaviour(prompt)
                return json.dumps(_reversed(said) if reverse else said)

            return say

        behaviours: Mapping[str, Any] = {
            "extraction": lively.extraction,
            "identity": lively.identity,
            "selection": lively.selection,
            "scope check": lively.scope,
            "content diagnosis": lively.diagnosis,
            "generalisation": lively.generalisation,
            "repair": lively.repair,
        }
        super().__init__(
            lively.answer, {name: told(name, each) for name, each in behaviours.items()}
        )


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def lively_world(
    folder: Path,
    seed: int,
    *,
    tasks: int = TASKS,
    reverse: bool = False,
    method: Mapping[str, Any] | None = None,
    reuse: bool = True,
) -> World:
    """A world of ``tasks`` reading tasks answered by the lively model; its stream is in folder."""
    folder.mkdir(parents=True, exist_ok=True)
    questions = [
        f"What about {TOPICS[number % len(TOPICS)]} in question {number}?"
        for number in range(1, tasks + 1)
    ]
    stream = stream_file(folder / "stream.jsonl", questions)
    fewer = {"candidates": 2, "rounds": 2, "attempts": 2, "k_inj": 2}
    return scripted_world(
        stream,
        LivelyModel(seed, reverse=reverse),
        method={**fewer, **(method or {})},
        reuse=reuse,
    )


def record(
    folder: Path,
    seed: int,
    *,
    name: str = "run.db",
    tasks: int = TASKS,
    method: Mapping[str, Any] | None = None,
) -> Path:
    """Record a lively run in ``folder``; returns its log."""
    log = folder / name
    start(log, lively_world(folder, seed, tasks=tasks, method=method))
    return log


def record_with_fork(folder: Path) -> tuple[Path, Path]:
    """A rich run of four tasks, and a fork of it after the second that supplies no memories."""
    seed = rich_seed()
    origin, path = record(folder, seed, tasks=4), folder / "fork.db"
    world = lively_world(folder, seed, tasks=4, method={"k_inj": 0})
    branch = Branch(origin=origin, at=2, changed={"method.k_inj": 0})
    fork(branch, path, open_=lambda *_: world)
    return origin, path


def admitted(log: EventLog, until: int | None = None) -> list[str]:
    """The memories that were admitted, up to an event, in their order."""
    return [
        recorded.event.memory
        for recorded in log.read(until=until, types=("MemoryAdmitted",))
        if isinstance(recorded.event, ev.MemoryAdmitted)
    ]


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: for many small runs whose disk does not matter."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


@cache
def rich_seed() -> int:
    """A seed whose run has everything; which one that is changes with the words of the prompts."""
    for seed in range(50):
        with quick_folder() as folder, EventLog.open(record(folder, seed)) as log:
            if {mark for recorded in log.read() for mark in _marks(recorded.event)} >= MARKS:
                return seed
    raise AssertionError("no lively run has everything: make its behaviours livelier")


MARKS = {
    "attached",
    "calibrated",
    "promotion",
    "failed",
    "committed",
    "rejected by a task",
    "use_when from generalisation",
    "avoid_when from scope check",
    *(f"{name} asked" for name in DECISIONS),
}
"""What a rich run must show."""


def _marks(event: ev.Event) -> Iterator[str]:
    match event:
        case ev.ModelReplied():
            yield f"{event.purpose} asked"
        case ev.ExperienceAttached():
            yield "attached"
        case ev.CalibrationDrawn():
            yield "calibrated"
        case ev.StateChanged():
            yield event.rule
        case ev.RepairEnded():
            yield event.outcome
        case ev.ConditionAdded():
            yield f"{event.kind} from {event.source}"
        case ev.CandidateJudged() if event.rejected_by:
            yield "rejected by a task"
