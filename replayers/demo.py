"""The demo: two short streams the bundled model can run, and the example that was recorded."""

from __future__ import annotations

import gzip
from importlib import resources
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from ..eventlog.importing import import_
from ..eventlog.log import EventLog
from .session import is_finished

# One retrieved rule, whatever its similarity, one attempt per decision, one round per repair: the
# store of a demo is too small for a threshold to choose from, and the bundled model does no better
# when it is asked again.
_SMALL: Final[dict[str, Any]] = {"theta": -1.0, "k_ret": 1, "attempts": 1, "rounds": 1}

STREAMS: Final[dict[str, dict[str, Any]]] = {
    "reading": {
        "benchmark": {"name": "reading", "source": "demo"},
        "sampling": {"max_tokens": 48},
        "method": _SMALL,
        "tasks": 12,
    },
    "pddl": {
        "benchmark": {
            "name": "pddl",
            "problems": "demo",
            "steps": 4,
            "worked_example": True,
            "constrain_actions": True,
        },
        "sampling": {"temperature": 1.0, "max_tokens": 16},
        "method": {"attempts": 1, "rounds": 1, "n2": 0},
        "tasks": 3,
    },
}
"""The configurations of the two streams, by the name of their log."""

EXAMPLE: Final = "example.jsonl.gz"


def finished(log: Path) -> bool:
    """Whether a log holds a run that reached its end."""
    if not log.exists():
        return False
    with EventLog.open(log) as opened:
        return is_finished(opened)


def open_recorded(folder: Path) -> Path:
    """Unpack the example log into ``folder`` unless it is there already; returns its path."""
    path = folder / "example.db"
    if not path.exists():
        packed = resources.files("discernmem.data") / "examples" / EXAMPLE
        with packed.open("rb") as stream, gzip.open(stream) as lines:
            import_(BufferedReader(lines), path)
    return path
