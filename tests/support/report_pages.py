"""Reports of logs, read back as strictly as a browser never would."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import html5lib

from discernmem.cli import main

_ADDRESS = re.compile(r"(?:https?:)?//[\w-]+\.\w|\burl\(|@import", re.ASCII)
HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
APART = {
    *(
        f"{HTML}{name}"
        for name in ("td", "th", "dt", "dd", "p", "li", "h1", "h2", "h3", "h4", "h5")
    ),
    *(f"{SVG}{name}" for name in ("title", "desc", "text")),
}


class Report:
    """A report and the tree it is parsed to; that it stands alone is checked at once."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.root: ElementTree.Element = html5lib.HTMLParser(strict=True).parse(html)
        found = [each.get("id") for each in self.root.iter() if each.get("id")]
        self.ids = set(found)
        assert len(found) == len(self.ids), "an id is there twice"
        for each in self.root.iter():
            assert each.tag != f"{HTML}script"
            for name, value in each.attrib.items():
                assert not str(name).startswith("on")
                assert name not in ("src", "srcset", "data", "action", "formaction")
                if name == "href":
                    assert value.startswith("#"), value
                    assert value[1:] in self.ids, value
        assert not _ADDRESS.search(self.style)

    @property
    def style(self) -> str:
        return "".join(each.text or "" for each in self.root.iter(f"{HTML}style"))

    @property
    def text(self) -> str:
        """What is read, one space between words."""
        body = self.root.find(f"{HTML}body")
        assert body is not None
        return _read(body)

    def of(self, id_: str) -> ElementTree.Element:
        """The element with an id."""
        (found,) = (each for each in self.root.iter() if each.get("id") == id_)
        return found

    def said(self, id_: str) -> str:
        """What is read in the element with an id."""
        return _read(self.of(id_))

    @property
    def rows(self) -> dict[str, ElementTree.Element]:
        """The rows of the list of memories."""
        return {
            each.attrib["data-memory"]: each
            for each in self.root.iter(f"{HTML}tr")
            if "data-memory" in each.attrib
        }

    @property
    def stories(self) -> dict[str, ElementTree.Element]:
        """The memories whose story is told."""
        return {
            each.attrib["id"]: each
            for each in self.root.iter(f"{HTML}article")
            if each.get("class") == "story"
        }


def _read(element: ElementTree.Element) -> str:
    """What is read in an element: cells, paragraphs and the words of pictures are apart."""

    def parts(each: ElementTree.Element) -> Iterator[str]:
        yield each.text or ""
        for child in each:
            yield from parts(child)
            yield (" " if child.tag in APART else "") + (child.tail or "")

    return " ".join("".join(parts(element)).split())


def reported(logs: Path | Sequence[Path], folder: Path, *options: Any) -> Report:
    """The report of logs, made by the command."""
    target = folder / "report.html"
    paths = [logs] if isinstance(logs, Path) else logs
    main(["report", *map(str, paths), "-o", str(target), *map(str, options)])
    return Report(target.read_text("utf-8"))
