"""Where each page of the site is."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

import attrs

MEMORY: Final = re.compile("m[1-9][0-9]{0,14}")
"""How a memory is called."""

_FOLDERS: Final = {
    "memory": "memories",
    "task": "tasks",
    "event": "events",
    "execution": "executions",
    "effect": "effects",
}
"""What has a page of its own, and the folder of these pages."""

PAGES: Final = {
    "memories": "Memories",
    "tasks": "Tasks",
    "store": "Store at a task",
    "search": "Search",
}
"""The pages one can begin at, with the names they go by."""


@attrs.frozen
class Links:
    """The addresses of one log's pages; ``base`` is the log's own on this server (``/run``)."""

    base: str

    def __call__(self, kind: str, id_: object) -> str:
        """The page of one thing: a memory by its id, a task by its index, the rest by position."""
        folder = _FOLDERS.get(kind)
        return f"{self.base}/-/{folder}/{id_}" if folder else ""

    def page(self, name: str, **query: object) -> str:
        """A page by its name, with a query of all values that are not empty."""
        given = {key: value for key, value in query.items() if value not in (None, "")}
        return f"{self.base}/-/{name}" + (f"?{urlencode(given)}" if given else "")

    def table(self, name: str, row: object = "") -> str:
        """Datasette's page of a table or of a row of it; of all tables if it has no name."""
        return "/".join(str(part) for part in (self.base, name, row) if part != "")
