"""A test double that implements the model interface: scripted by purpose, never by call order.

Reading tasks serve as the world: an item's alias is ``right``, so a scripted role decides a score
by saying ``right`` or ``wrong`` for the question and the notes it sees in its prompt.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from discernmem.decisions import llm
from discernmem.decisions.llm import (
    diagnosis,
    extraction,
    generalisation,
    identity,
    repair,
    scope,
    selection,
)
from discernmem.replayers.config import parse_config
from discernmem.replayers.hosts import open_host, shipped_hosts
from discernmem.replayers.hosts.graph import GraphHost
from discernmem.replayers.models.base import Card, ModelCall, Reply
from discernmem.replayers.world import World, open_world

SYSTEMS: Mapping[str, str] = {
    extraction.SYSTEM: "extraction",
    identity.SYSTEM: "identity",
    selection.SYSTEM: "selection",
    scope.SYSTEM: "scope check",
    diagnosis.SYSTEM: "content diagnosis",
    generalisation.SYSTEM: "generalisation",
    repair.SYSTEM: "repair",
}
"""System prompt to the name of its decision: how the double knows what it is asked."""

Script = Callable[[str], Any]
"""The prompt, earlier attempts included, to the answer: text, or JSON data."""

ABSTAIN = {"reason": "", "store": False, "rule": "", "use_when": [], "avoid_when": []}
DEFAULTS: Mapping[str, Any] = {
    "extraction": ABSTAIN,
    "identity": {"reason": "", "match": "none"},
    "scope check": {"reason": "", "use": True, "avoid": False, "boundary": ""},
    "content diagnosis": {"reason": "", "defect": "none", "description": "", "cited": []},
    "generalisation": {"reason": "", "use_when": []},
    "repair": {"reason": "", "edits": []},
}


def select_all(prompt: str) -> Any:
    """The selection that takes every memory it is offered."""
    ids = [line.strip("[] ") for line in prompt.splitlines() if line.startswith("[m")]
    return {"reason": "", "selected": ids}


@attrs.define
class ScriptedModel:
    """Answers decisions from ``decisions`` (by name) and role turns from ``answer``.

    ``answer`` gets the role and the user message. A script may be data or a function of the
    prompt. What no script says is answered harmlessly. ``calls`` lists what was asked, ``prompts``
    with which words.
    """

    answer: Callable[[str, str], str]
    decisions: Mapping[str, Any] = attrs.field(factory=dict)
    calls: list[str] = attrs.field(factory=list)
    prompts: list[tuple[str, str]] = attrs.field(factory=list)

    @property
    def card(self) -> Card:
        return Card(fingerprint="scripted", facts={"model": "scripted", "device": "none"})

    def complete(self, call: ModelCall) -> Reply:
        purpose = self._purpose(call.messages[0].content)
        prompt = "\n\n".join(message.content for message in call.messages[1:])
        self.calls.append(purpose)
        self.prompts.append((purpose, prompt))
        if purpose in llm.DECISIONS:
            said = self.decisions.get(purpose, DEFAULTS.get(purpose, select_all))
            if callable(said):
                said = said(prompt)
            text = said if isinstance(said, str) else json.dumps(said)
        else:
            text = self.answer(purpose, prompt)
        return Reply(text=text, finish="stop", prompt_tokens=1, completion_tokens=1)

    def asked(self, purpose: str) -> list[str]:
        """The prompts of one purpose, in order."""
        return [prompt for name, prompt in self.prompts if name == purpose]

    def _purpose(self, system: str) -> str:
        if system in SYSTEMS:
            return SYSTEMS[system]
        if system in _roles():
            return _roles()[system]
        raise AssertionError(f"no purpose known for {system[:60]!r}")


@cache
def _roles() -> Mapping[str, str]:
    """System prompt to the role, or kind of role, that is told it in the first shipped host."""
    roles: dict[str, str] = {}
    for name in shipped_hosts():
        host = open_host(name)
        assert isinstance(host, GraphHost)
        for instructions in host.instructions.values():
            for role, told in instructions.items():
                roles.setdefault(told, role)
    return roles


class BagEmbedder:
    """A deterministic embedder: hashed bag of words, unit length, no model."""

    DIMENSIONS = 64

    @property
    def card(self) -> Card:
        return Card(fingerprint="bag", facts={"name": "bag", "dimensions": self.DIMENSIONS})

    def embed(self, text: str) -> bytes:
        counts = [1e-3] * self.DIMENSIONS
        for word in text.lower().split():
            counts[zlib.crc32(word.encode()) % self.DIMENSIONS] += 1.0
        # An exact sum, so that the bytes are the same on every machine.
        length = math.sqrt(math.fsum(count * count for count in counts))
        return np.array([count / length for count in counts], dtype="<f4").tobytes()


def stream_file(path: Path, questions: Sequence[str]) -> Path:
    """A reading stream whose every question is answered by the word ``right``."""
    with path.open("w") as out:
        for number, question in enumerate(questions, start=1):
            item = {
                "id": f"q{number}",
                "family": "one-fact",
                "question": question,
                "passages": [f"In passage {number} the answer is right."],
                "aliases": ["right"],
            }
            out.write(json.dumps(item) + "\n")
    return path


def scripted_world(
    stream: Path,
    model: ScriptedModel,
    *,
    method: Mapping[str, Any] | None = None,
    reuse: bool = True,
) -> World:
    """A world over ``stream`` answered by ``model``; theta is -1 so that all is retrieved."""
    table = {
        "benchmark": {"name": "reading", "source": str(stream)},
        "model": {"name": "scripted"},
        "embedder": {"name": "bag"},
        "method": {"theta": -1.0, **(method or {})},
        "reuse": reuse,
    }
    config = parse_config(table, "test")
    return open_world(config, model=model, embedder=BagEmbedder())
