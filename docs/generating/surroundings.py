"""What a command takes from its surroundings and gives back: variables and exit statuses."""

from __future__ import annotations

import re
from importlib import resources
from importlib.resources.abc import Traversable

from discernmem.cli.stopping import SIGNALS, Stop
from discernmem.eventlog import errors

from .words import Meanings, table

_LAYERS = ("eventlog", "replayers", "frameworks", "sandbox", "pages", "cli")
"""The packages that may look around; the others are pure."""

_OURS = re.compile(r"\bDISCERNMEM_[A-Z_]+\b")
_READ = re.compile(r"environ(?:\.get|\.setdefault)?[\[(]\"([A-Z_]+)\"")


def exit_statuses(meanings: Meanings) -> str:
    """The page of exit statuses."""
    raised = {each.exit_status for each in vars(errors).values() if isinstance(each, type)}
    stopped = {Stop(asked=number).exit_status for number in SIGNALS}
    statuses = sorted({0} | raised | stopped)
    rows = [(f"`{status}`", meanings.of("status", str(status))) for status in statuses]
    return "\n\n".join(
        [
            "# Exit statuses",
            "A mistake costs one line on standard error that names the thing, the place and the "
            "remedy; never a traceback.",
            table(("status", "meaning"), rows),
        ]
    )


def environment(meanings: Meanings) -> str:
    """The page of environment variables."""
    found: set[str] = set()
    for layer in _LAYERS:
        for text in _sources(resources.files(f"discernmem.{layer}")):
            found |= {*_OURS.findall(text), *_READ.findall(text)}
    rows = [(f"`{name}`", meanings.of("environment", name)) for name in sorted(found)]
    return "\n\n".join(["# Environment variables", table(("variable", "meaning"), rows)])


def _sources(folder: Traversable) -> list[str]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry)
        elif entry.name.endswith(".py"):
            found.append(entry.read_text("utf-8"))
    return found
