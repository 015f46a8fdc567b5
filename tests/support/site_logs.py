"""A site over a log, asked in this process or served by another, and texts out to break a page."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
from terminals import COMMAND

from discernmem.eventlog import Draft, EventLog
from discernmem.eventlog import events as ev
from discernmem.pages.site.server import datasette_of

SCRIPT = "<script>alert('rule')</script><img src=x onerror=alert(1)>"
LONG = "W" * 3000
RIGHT_TO_LEFT = "קרא את הקטע פעמיים"
TURNING = "a question \u2069about\u202e rivers\u2066 and \u200bmore"
EMOJI = "🧭 look 👩‍🔬 twice 🏳️‍🌈"
LINK = "javascript:alert(document.domain)"
CONTROL = "bell \x07 and escape \x1b[31mred"
HOSTILE = (SCRIPT, LONG, RIGHT_TO_LEFT, EMOJI, LINK, TURNING, CONTROL)
SHOWN = {
    **{text: text for text in HOSTILE},
    TURNING: r"a question \u2069about\u202e rivers\u2066 and \u200bmore",
    CONTROL: r"bell \x07 and escape \x1b[31mred",
}
"""How a page shows each: what cannot be seen, or would turn what is around it, as an escape."""


class Page(HTMLParser):
    """What a page is made of: its tags with their attributes, the links and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.pictures: list[dict[str, str | None]] = []
        self._silent = ""
        self._inside = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag in ("style", "script"):
            self._silent = tag
        if tag == "svg":
            self._inside += 1
            if self._inside == 1:
                self.pictures.append(dict(attributes))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""
        if tag == "svg":
            self._inside -= 1

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def links(self) -> list[str]:
        return [str(each["href"]) for each in self.of("a") if each.get("href")]


@attrs.frozen
class Answer:
    status: int
    page: Page
    headers: Any


class Site:
    """A site over a log, asked in this process."""

    def __init__(self, path: Path, host: str = "127.0.0.1") -> None:
        self.path = path
        self.base = f"/{path.stem}"
        self.datasette = datasette_of(path, host)

    def get(self, address: str, **options: Any) -> Answer:
        found = asyncio.run(self.datasette.client.get(address, **options))
        return Answer(found.status_code, Page(found.text), found.headers)

    def page(self, name: str, status: int = 200) -> Page:
        """A page of ours, by its address below the log's."""
        found = self.get(f"{self.base}/-/{name}")
        assert found.status == status, (name, found.status, found.page.text[-400:])
        return found.page

    def numbers(self, name: str) -> dict[str, str]:
        """The numbers a page says it shows."""
        return numbers_of(self.page(name).html)


def numbers_of(html: str) -> dict[str, str]:
    """The numbers that a piece of a page says it shows."""
    return dict(re.findall(r'data-number="([a-z_]+)" value="([^"]*)"', html))


def admit(
    log: EventLog, body: str, *, use_when: tuple[str, ...] = (), role: str = "assistant"
) -> str:
    """Record one more memory; returns its id."""
    ((count,),) = log.rows("select count(*) from events where type = 'MemoryAdmitted'")
    event = ev.MemoryAdmitted(
        memory=f"m{count + 1}",
        role=role,
        body=body,
        use_when=use_when,
        avoid_when=(),
        source_task="q1",
        source_execution="",
    )
    log.append([Draft(event=event, actor="test")])
    return event.memory


@contextmanager
def served(path: Path, *options: str) -> Iterator[str]:
    """A real `discernmem serve` of a log; gives the address it prints."""
    server = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", str(path), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        found = re.search(r"(http://\S+)/ ", said)
        assert found is not None, (said, server.stderr and server.stderr.read())
        yield found[1]
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    # Nothing that went on was worth a word, and ending it is no failure.
    assert (server.returncode, errors) == (0, "")
