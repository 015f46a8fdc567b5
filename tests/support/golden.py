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

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
VOLATILE = frozenset({"evidence", "replies", "run", "software", "state_hash", "trajectory"})
"""Fields of event ids or of digests over them, which follow from the run's id, and versions."""

_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def listing(story: Story) -> list[str]:
    """Task index, type and lasting payload of each event; digests are shortened."""
    return [
        _DIGEST.sub(
            r"\1",
            orjson.dumps(
                [recorded.task_index, recorded.type, _lasting(orjson.loads(recorded.payload))],
                option=orjson.OPT_SORT_KEYS,
            ).decode(),
        )
        for recorded in story.events
    ]


def check_golden(story: Story, name: str) -> None:
    """Compare a run with its golden log, or write that."""
    path = GOLDEN / f"{name}.jsonl"
    lines = listing(story)
    if os.environ.get("REGENERATE_GOLDEN"):
        GOLDEN.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert lines == path.read_text("utf-8").splitlines()


def _lasting(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in VOLATILE}
