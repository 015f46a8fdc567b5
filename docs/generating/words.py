"""What the pages share: meanings, docstrings as text, tables."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs


@attrs.define
class Meanings:
    """The meanings that the code does not say, each to be used."""

    _table: Mapping[str, Mapping[str, str]]
    _used: set[tuple[str, str]] = attrs.field(factory=set)
    _missing: list[tuple[str, str]] = attrs.field(factory=list)

    @classmethod
    def read(cls, path: Path) -> Meanings:
        """The meanings in a file."""
        return cls(tomllib.loads(path.read_text("utf-8")))

    def of(self, section: str, *keys: str) -> str:
        """The meaning under the first key that has one."""
        for key in keys:
            if key in self._table[section]:
                self._used.add((section, key))
                return self._table[section][key]
        self._missing.append((section, keys[0]))
        return ""

    def require_complete(self) -> None:
        """Refuse meanings that are missing, and those of nothing.

        Raises:
            SystemExit: there are such.
        """
        every = {(section, key) for section, table in self._table.items() for key in table}
        wrong = [f"[{section}] {key} is missing" for section, key in self._missing]
        wrong += [f"[{section}] {key} is in nothing" for section, key in sorted(every - self._used)]
        if wrong:
            sys.exit("docs/meanings.toml: " + "; ".join(wrong))


def prose(thing: object) -> str:
    """The prose of a docstring."""
    return _parts(thing)[0]


def described(thing: object) -> dict[str, str]:
    """What the section Attributes or Args of a docstring says of each name."""
    return _parts(thing)[1]


def _parts(thing: object) -> tuple[str, dict[str, str]]:
    text = inspect.cleandoc(thing.__doc__ or "").replace("``", "`")
    before, *sections = re.split(r"^(?:Attributes|Args|Raises):$", text, flags=re.MULTILINE)
    paragraphs = "\n\n".join(" ".join(each.split()) for each in before.split("\n\n")).strip()
    found: dict[str, str] = {}
    if sections:
        for entry in re.split(r"\n(?=\S)", textwrap.dedent(sections[0].strip("\n"))):
            name, _, words = entry.partition(":")
            found[name.strip()] = " ".join(words.split())
    return paragraphs, found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; a column without any text is left out."""
    kept = [n for n in range(len(head)) if any(row[n] for row in rows)]
    lines = [head, ["---"] * len(head), *rows]
    cells = ([line[n].replace("|", r"\|") for n in kept] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
