"""Write docs/reference from the code: ``generate.py``; ``generate.py --check`` only compares.

What the code says itself (help of commands, docstrings, defaults, comments of SQL) is taken from
there. What it does not say, the meaning of single fields and columns, is in ``meanings.toml``; a
meaning that is missing, or that belongs to nothing, is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from generating.commands import commands
from generating.configuration import configuration
from generating.events import events
from generating.rules import rules
from generating.surroundings import environment, exit_statuses
from generating.views import views
from generating.words import Meanings

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
MADE = "<!-- Made by docs/generate.py from the code and docs/meanings.toml: change those. -->"


def reference() -> dict[str, str]:
    """The pages of the reference by their names."""
    meanings = Meanings.read(DOCS / "meanings.toml")
    pages = {
        "commands.md": commands(),
        "configuration.md": configuration(meanings),
        "environment.md": environment(meanings),
        "events.md": events(meanings),
        "exit-statuses.md": exit_statuses(meanings),
        "rules.md": rules(),
        "views.md": views(meanings),
    }
    meanings.require_complete()
    return {name: f"{MADE}\n\n{text.rstrip()}\n" for name, text in pages.items()}


def main(arguments: Sequence[str]) -> None:
    """Write the pages, or say which are not what they would be."""
    made = reference()
    there = {path.name: path.read_text("utf-8") for path in REFERENCE.glob("*.md")}
    stale = [name for name in sorted({*there, *made}) if there.get(name) != made.get(name)]
    if "--check" in arguments:
        if stale:
            sys.exit(f"docs/reference: {', '.join(stale)} not up to date; run docs/generate.py")
        return
    REFERENCE.mkdir(exist_ok=True)
    for name in stale:
        if name in made:
            (REFERENCE / name).write_text(made[name], "utf-8")
        else:
            (REFERENCE / name).unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
