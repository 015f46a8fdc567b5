"""Golden logs: every event of a run as one line, so that any change of any of them shows.

``REGENERATE_GOLDEN=1 python -m pytest tests/cycle`` writes them anew; read the diff before you
commit it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import orjson
from scenario import Story

from discernmem.decisions.settings import DECISION_VERSION
from discernmem.eventlog import events as ev

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
VOLATILE = frozenset({"evidence", "replies", "run", "software", "state_hash", "trajectory"})
"""Fields of event ids or of digests over them, which follow from the run's id, and versions."""

_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


WORDING = frozenset({"request", "messages", "schema"})
"""Of a decision's reply, what changes with the words of its prompt; `check_prompts` has those."""


def listing(story: Story) -> list[str]:
    """Task index, type and lasting payload of each event; digests are shortened."""
    return [
        _line([recorded.task_index, recorded.type, _lasting(orjson.loads(recorded.payload))])
        for recorded in story.events
    ]


def check_golden(story: Story, name: str) -> None:
    """Compare a run with its golden log."""
    _check(listing(story), name)


def check_prompts(story: Story, name: str) -> None:
    """Compare the version of the rules and what each decision of a run was asked, in order.

    A log can only be replayed by the words it was recorded with, so once logs are kept, other
    words are another version.
    """
    asked = [
        _line([reply.purpose, reply.request])
        for reply in story.of(ev.ModelReplied)
        if reply.purpose != "role"
    ]
    _check([_line(["DECISION_VERSION", DECISION_VERSION]), *asked], name)


def _check(lines: list[str], name: str) -> None:
    """Compare lines with a golden file, or write it."""
    path = GOLDEN / f"{name}.jsonl"
    if os.environ.get("REGENERATE_GOLDEN"):
        GOLDEN.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert lines == path.read_text("utf-8").splitlines()


def _line(value: list[Any]) -> str:
    return _DIGEST.sub(r"\1", orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def _lasting(payload: dict[str, Any]) -> dict[str, Any]:
    hidden = VOLATILE | (WORDING if payload.get("purpose", "role") != "role" else frozenset())
    return {name: value for name, value in payload.items() if name not in hidden}
