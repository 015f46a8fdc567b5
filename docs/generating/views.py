"""Every view and table of a log with its columns, from the SQL that makes them."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from importlib import resources

from discernmem.projections import held

from .words import Meanings, table

_COLUMN = re.compile(r"  (\w+) +(text|integer|blob)\b[^-]*(?:-- (.*))?$")


def views(meanings: Meanings) -> str:
    """The page."""
    package = resources.files("discernmem.eventlog")
    schema = (package / "schema.sql").read_text("utf-8")
    ready = (package / "views.sql").read_text("utf-8")
    parts = [
        "# Views and tables",
        "A log is an SQLite file. Its views are questions that are ready to be asked, with any "
        "tool that reads SQLite: see [how to ask with SQL](../how-to/ask-with-sql.md). The "
        "`position` of a row is the event that says so; `payload` at that position is the whole "
        "fact.",
        "## Views",
    ]
    with closing(sqlite3.connect(":memory:")) as log:
        log.executescript(schema + ready)
        for name, comment in _made("view", ready):
            columns = [row[1] for row in log.execute(f"pragma table_info({name})")]
            rows = [(f"`{c}`", meanings.of("view", f"{name}.{c}", c)) for c in columns]
            parts += [f"### {name}", comment, table(("column", "meaning"), rows)]
    parts += [
        "## Tables of the log",
        "Rows are only ever added: triggers refuse every change.",
        *_tables(schema, "", meanings),
        "## Tables of the side file",
        "`run.store.db` beside `run.db` says from which event to which every state of every memory "
        "held. It is computed from the log and may be deleted at any time.",
        *_tables("\n".join(text.strip() for text in held.SCHEMA), "store.", meanings),
    ]
    return "\n\n".join(parts)


def _made(kind: str, text: str) -> list[tuple[str, str]]:
    """The names of what SQL makes, each with the comment just above it."""
    found = re.findall(rf"((?:^--[^\n]*\n)*)^create {kind} (\w+)", text, re.MULTILINE)
    return [
        (name, " ".join(line.removeprefix("--").strip() for line in above.splitlines()))
        for above, name in found
    ]


def _tables(text: str, prefix: str, meanings: Meanings) -> list[str]:
    parts = []
    for name, comment in _made("table", text):
        body = text.split(f"create table {name} (\n")[1].split("\n)")[0]
        rows: list[tuple[str, str, str]] = []
        for line in body.splitlines():
            if column := _COLUMN.match(line):
                said = column[3] or meanings.of("table", f"{prefix}{name}.{column[1]}")
                rows.append((f"`{column[1]}`", column[2], said))
            elif more := re.match(r" +-- (.*)$", line):
                rows[-1] = (*rows[-1][:2], f"{rows[-1][2]} {more[1]}")
        comment = comment or meanings.of("table", f"{prefix}{name}")
        heading = f"### {prefix}{name}"
        parts += [heading, comment, table(("column", "type", "meaning"), rows)]
    return parts
