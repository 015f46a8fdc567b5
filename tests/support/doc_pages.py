"""The pages of the documentation and what is in them: blocks of code, links, headings, citations.

The words after the language of a fence say more of a block than its reader sees::

    ```console shown          a session that no test can have: its commands are read, not run
    ```toml config            kept to the form of a configuration (host, project, records)
    ```python file=pair.py    also written to that file, in the folder of the page
    ```python needs=pandas    run where the module is installed, else read
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


@attrs.frozen
class Block:
    """A block of code.

    Attributes:
        page: the file it is in.
        line: the number of its fence.
        language: the first word after the fence.
        words: the other words, without those with ``=``.
        options: the words with ``=``, by name.
        text: what is between the fences.
    """

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    options: dict[str, str]
    text: str

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def pages() -> tuple[Path, ...]:
    """Every page: the README, those under docs/ and those beside the examples."""
    found = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return tuple(sorted(found))


def written() -> tuple[Path, ...]:
    """The pages that people write, without the reference."""
    return tuple(page for page in pages() if DOCS / "reference" not in page.parents)


def name(page: Path) -> str:
    """A page as tests call it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """The blocks of a page in their order."""
    text = page.read_text("utf-8") if text is None else text
    found = []
    for fence in _FENCE.finditer(text):
        language, *more = fence["info"].split() or [""]
        found.append(
            Block(
                page=page,
                line=text.count("\n", 0, fence.start()) + 1,
                language=language,
                words=tuple(word for word in more if "=" not in word),
                options=dict(word.split("=", 1) for word in more if "=" in word),
                text=fence["text"],
            )
        )
    return found


def replace_block(text: str, block: Block, new: str) -> str:
    """The text of a page with what is between the fences of ``block`` replaced."""
    lines = text.splitlines(keepends=True)
    body = block.text.count("\n")
    return "".join([*lines[: block.line], new, *lines[block.line + body :]])


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def inline(page: Path) -> list[str]:
    """What stands between single backticks in the prose of a page."""
    return _INLINE.findall(prose(page))


def links(page: Path) -> list[tuple[bool, str, str]]:
    """Every link: whether it is a picture, its words, and where it leads."""
    found = _LINK.findall(_INLINE.sub("`code`", prose(page)))
    return [(bool(mark), words, target) for mark, words, target in found]


def anchors(page: Path) -> set[str]:
    """What a link to a heading of the page may end with."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (one := slug if number == 0 else f"{slug}-{number}") in found:
            number += 1
        found.add(one)
    return found
