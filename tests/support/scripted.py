"""A test double that implements the model interface: scripted by purpose, never by call order.

Reading tasks serve as the world: an item's alias is ``right``, so a scripted role decides a score by
saying ``right`` or ``wrong`` for the question and the notes it sees in its prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from discernmem.decisions import llm
from discernmem.replayers.config import parse_config
from discernmem.replayers.models.base import Card, ModelCall, Reply
from discernmem.replayers.session import World, open_world
from discernmem.replayers.team import load_host

SYSTEMS = {decision.name: name for name, decision in llm.DECISIONS.items()}

Script = Callable[[str], Any]
"""The user message to the answer: text, or JSON data."""

ABSTAIN = {"reason": "", "store": False, "rule": "", "use_when": [], "avoid_when": []}
DEFAULTS: Mapping[str, Any] = {
    "extraction": ABSTAIN,
    "identity": {"reason": "", "match": "none"},
    "scope check": {"reason": "", "use": True, "avoid": False, "boundary": ""},
    "content diagnosis": {"reason": "", "defect": "none", "description": "", "cited": []},
    "generalisation": {"reason": "", "use_when": []},
    "repair": {"reason": "", "edits": []},
}


def _select_all(prompt: str) -> Any:
    ids = [line.strip("[] ") for line in prompt.splitlines() if line.startswith("[m")]
    return {"reason": "", "selected": ids}


@attrs.define
class ScriptedModel:
    """Answers decisions from ``decisions`` (by name) and role turns from ``answer``.

    ``answer`` gets the role and the user message. A script may be data or a function of the
    message. What no script says is answered harmlessly. ``calls`` counts what was asked.
    """

    answer: Callable[[str, str], str]
    decisions: Mapping[str, Any] = attrs.field(factory=dict)
    calls: list[str] = attrs.field(factory=list)

    @property
    def card(self) -> Card:
        return Card(fingerprint="scripted", facts={"model": "scripted", "device": "none"})

    def complete(self, call: ModelCall) -> Reply:
        purpose = self._purpose(call.messages[0].content)
        self.calls.append(purpose)
        prompt = call.messages[1].content
        if purpose in llm.DECISIONS:
            said = self.decisions.get(purpose, DEFAULTS.get(purpose, _select_all))
            if callable(said):
                said = said(prompt)
            text = said if isinstance(said, str) else json.dumps(said)
        else:
            text = self.answer(purpose, prompt)
        return Reply(text=text, finish="stop", prompt_tokens=1, completion_tokens=1)

    def _purpose(self, system: str) -> str:
        for module, decision in _systems().items():
            if system == module:
                return decision
        for role, told in load_host("autogen").instructions["reading"].items():
            if system == told:
                return role
        raise AssertionError(f"no purpose known for {system[:60]!r}")


def _systems() -> dict[str, str]:
    from discernmem.decisions.llm import (
        diagnosis,
        extraction,
        generalisation,
        identity,
        repair,
        scope,
        selection,
    )

    return {
        extraction.SYSTEM: "extraction",
        identity.SYSTEM: "identity",
        selection.SYSTEM: "selection",
        scope.SYSTEM: "scope check",
        diagnosis.SYSTEM: "content diagnosis",
        generalisation.SYSTEM: "generalisation",
        repair.SYSTEM: "repair",
    }


class BagEmbedder:
    """A deterministic embedder: hashed bag of words, unit length, no model."""

    DIMENSIONS = 64

    @property
    def card(self) -> Card:
        return Card(fingerprint="bag", facts={"name": "bag", "dimensions": self.DIMENSIONS})

    def embed(self, text: str) -> bytes:
        import zlib

        vector = np.full(self.DIMENSIONS, 1e-3)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.DIMENSIONS] += 1.0
        return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


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
