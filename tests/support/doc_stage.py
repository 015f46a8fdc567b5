"""The folder in which the blocks of a page are tried: a log, files, a model server."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import re
import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from doc_console import Console, Step, as_shown, check_command, session, shown_anew, steps
from doc_pages import ROOT, Block, blocks, replace_block
from endpoint import Endpoint, Response, chat, scripted
from faults.registry import FAULTS
from scripted import SYSTEMS, ScriptedModel

from discernmem.replayers.config import parse_config
from discernmem.replayers.demo import open_recorded
from discernmem.replayers.hosts.files import parse_host
from discernmem.replayers.serving.files import parse_gateway

SERVER = "http://localhost:8080"
"""The model server of the pages; in a test, one that teaches a rule and knows no answer."""

_RULE = {"rule": "Name the person, not the place.", "use_when": ["a person is asked for"]}
_DECIDE = scripted(
    ScriptedModel(
        lambda *_: "",
        {"extraction": {"reason": "", "store": True, "avoid_when": [], **_RULE}},
    )
)


class Stage:
    """Tries the blocks of one page after each other.

    Args:
        folder: where the page's files are.
        server: where the model server really is.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.console = Console(folder, {SERVER: server})
        self._names: dict[str, Any] = {"__name__": "page"}
        self._by_language: dict[str, Callable[[Block], None]] = {
            "console": self._console,
            "json": lambda block: json.loads(block.text),
            "jsonl": lambda block: [*map(json.loads, block.text.splitlines())],
            "python": self._python,
            "sql": self._sql,
            "text": _text,
            "toml": self._toml,
        }

    @property
    def languages(self) -> frozenset[str]:
        """The languages that are tried."""
        return frozenset(self._by_language)

    def attempt(self, block: Block) -> None:
        """Try a block: it does, or is, what its page says."""
        if name := block.options.get("file"):
            (self.folder / name).write_text(self.console.real(block.text), "utf-8")
        self._by_language[block.language](block)

    def _console(self, block: Block) -> None:
        for step in steps(block.text):
            check_command(step.command)
            if "shown" in block.words:
                continue
            real = self.console.repeat(step)
            if not as_shown(step.shown, real):
                raise AssertionError(
                    f"$ {step.command}\nprints\n" + "\n".join(real) + "\n(if that is right: "
                    "python tests/docs/update.py)"
                )

    def anew(self, block: Block) -> tuple[str, list[str]]:
        """The text of a session as it is now, and what of it cannot be had."""
        done, troubles = list[Step](), list[str]()
        for step in steps(block.text):
            try:
                check_command(step.command)
                shown = shown_anew(step.shown, self.console.repeat(step))
            except AssertionError as error:
                troubles.append(f"{block.place}: {error}")
                shown = step.shown
            done.append(Step(step.command, shown))
        return session(done), troubles

    def _python(self, block: Block) -> None:
        code = compile(block.text, block.place, "exec")
        missing = [name for name in _modules(block) if importlib.util.find_spec(name) is None]
        if missing or "shown" in block.words:
            _check_program(block.text, self.folder)
            return
        with chdir(self.folder), redirect_stdout(io.StringIO()):
            exec(code, self._names)

    def _sql(self, block: Block) -> None:
        for question in filter(None, map(str.strip, block.text.split(";"))):
            assert _ask(self.folder, question), f"{question}\nfinds nothing"

    def _toml(self, block: Block) -> None:
        table = tomllib.loads(block.text)
        kinds: dict[str, Callable[[], object]] = {
            "config": lambda: parse_config(table, block.place),
            "host": lambda: (
                parse_gateway(table, self.folder, block.place)
                if "gateway" in table
                else parse_host(table, block.place)
            ),
            "project": lambda: _check_project(table),
        }
        assert len(block.words) == 1, f"say what this is of: {', '.join(kinds)}"
        kinds[block.words[0]]()


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """A stage in a new folder with the recorded example at ``demo/example.db``."""
    (folder / "demo").mkdir(parents=True)
    open_recorded(folder / "demo")
    with Endpoint(answer) as server:
        yield Stage(folder, server.url.removesuffix("/v1"))


def rewrite(page: Path, folder: Path) -> list[str]:
    """Show what the sessions of a page print now; returns what could not be had."""
    text, troubles = page.read_text("utf-8"), list[str]()
    with stage(folder) as here:
        for number in range(len(blocks(page))):
            block = blocks(page, text)[number]
            if block.language == "console" and "shown" not in block.words:
                new, more = here.anew(block)
                text = replace_block(text, block, new)
                troubles += more
                continue
            try:
                here.attempt(block)
            except Exception as error:
                troubles.append(f"{block.place}: {error}")
    if text != page.read_text("utf-8"):
        page.write_text(text, "utf-8")
    return troubles


def answer(body: dict[str, Any]) -> Response:
    """What the model server of the pages says."""
    first = body["messages"][0]
    if first["role"] != "system" or first["content"] in SYSTEMS:
        return _DECIDE(body)
    return chat("Hastra")


def _modules(block: Block) -> list[str]:
    return list(filter(None, block.options.get("needs", "").split(",")))


def _ask(folder: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "demo" / "example.db")) as log:
        log.execute("pragma query_only = on")
        return log.execute(question).fetchall()


def _check_program(text: str, folder: Path) -> None:
    """A program that cannot run here: what it imports of ours is there, its questions are right."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discernmem"):
            source = ROOT.joinpath(*str(node.module).split(".")[1:]).with_suffix(".py")
            if not source.exists():
                found = vars(import_module(str(node.module)))
            else:
                found = {
                    each.name: each
                    for each in ast.parse(source.read_text("utf-8")).body
                    if isinstance(each, ast.FunctionDef | ast.ClassDef)
                }
            assert {alias.name for alias in node.names} <= set(found), node.module
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "sqlite3" in text
            and re.match(r"\s*(select|with)\b", node.value)
        ):
            assert _ask(folder, node.value)


def _check_project(table: dict[str, Any]) -> None:
    """The entry points that a project names are of groups that plugins are looked for in."""
    from discernmem.replayers import plugins

    groups = {plugins.BENCHMARKS, plugins.HOSTS, plugins.MODELS, plugins.EMBEDDERS}
    assert set(table["project"]["entry-points"]) <= groups


def _text(block: Block) -> None:
    """Drawings: each is of something that is there."""
    (kind,) = block.words
    if kind == "layers":
        for line in block.text.splitlines():
            assert (ROOT / line.split("/")[0]).is_dir(), line
    elif kind == "faults":
        named = {line[:44].strip() for line in block.text.splitlines()[1:]}
        assert named == {fault.name for fault in FAULTS}
    else:
        raise AssertionError(f"{block.place}: text of which no test knows what it is")
