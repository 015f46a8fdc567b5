"""Sessions at a console in the documentation: run again, compared, and written anew.

A session is lines of ``$ command``, each followed by what it printed, on standard output and error
together. A line that is ``…`` stands for any lines, and ``…`` at the end of a line for its rest. A
backslash at the end of a command goes on with it on the next line.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
from doc_pages import ROOT

from discernmem.cli import main
from discernmem.cli.commands import cli

CUT = "…"
RUN = frozenset({"discernmem", "sqlite3", "sqlite-utils", "python", "cat", "head", "ls", "cp"})
"""The programs that a session may run."""

SHOWN = frozenset({*RUN, "make", "pip", "datasette", "llama-server", "kill", "curl"})
"""The programs that a session may show."""

_BETWEEN = frozenset("|><;&")


@attrs.frozen
class Step:
    """A command and the lines shown under it."""

    command: str
    shown: tuple[str, ...]

    @property
    def fails(self) -> bool:
        """Whether what is shown is a complaint."""
        return any(line.startswith(("discernmem: ", "Error: ")) for line in self.shown)


def steps(text: str) -> list[Step]:
    """The commands of a session."""
    found: list[Step] = []
    lines = iter(text.splitlines())
    command, shown = "", list[str]()
    for line in lines:
        if not line.startswith("$ "):
            assert command, f"a session begins with a command, not with {line!r}"
            shown.append(line)
            continue
        if command:
            found.append(Step(command, tuple(shown)))
        command, shown = line[2:], []
        while command.endswith("\\"):
            command += "\n" + next(lines)
    return [*found, Step(command, tuple(shown))] if command else found


def session(done: list[Step]) -> str:
    """The text of a session."""
    return "".join("\n".join([f"$ {step.command}", *step.shown]) + "\n" for step in done)


def simple(command: str) -> list[list[str]]:
    """The words of each command between pipes and redirections, without the comment."""
    text = re.sub(r"\s# .*$", "", command.replace("\\\n", " "))
    found = [list[str]()]
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    for word in lexer:
        if set(word) <= _BETWEEN:
            found.append([])
        else:
            found[-1].append(word)
    return found


def check_command(command: str) -> None:
    """Read a command without running it: its programs are known, and what it gives to ours."""
    for number, words in enumerate(simple(command)):
        if number == 0 or words[0] in SHOWN:
            _check(words)


def _check(words: list[str]) -> None:
    program, *arguments = words
    assert program in SHOWN, f"{program}: no test knows this program"
    if program == "discernmem":
        check_arguments(arguments)
    elif program == "make":
        targets = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.M)
        assert {word for word in arguments if "=" not in word} <= set(targets[0].split())
    elif program == "pip":
        project = (ROOT / "pyproject.toml").read_text("utf-8")
        for extras in re.findall(r"discernmem\[([\w,]+)\]", " ".join(arguments)):
            for extra in extras.split(","):
                assert re.search(rf"^{extra} = \[", project, re.M), f"no extra {extra}"


def check_arguments(arguments: list[str]) -> None:
    """What follows ``discernmem`` is something it takes."""
    name, *rest = arguments
    if name.startswith("-"):
        assert name in ("--help", "--version")
        return
    assert name in cli.commands, f"no command {name}"
    try:
        cli.commands[name].make_context(name, rest)
    except click.exceptions.Exit:
        pass
    except click.ClickException as error:
        raise AssertionError(
            f"discernmem {' '.join(arguments)}: {error.format_message()}"
        ) from None


class Console:
    """Runs the commands of one page in one folder.

    Args:
        folder: where they are run.
        servers: addresses as the page writes them, and where they really are.
    """

    def __init__(self, folder: Path, servers: dict[str, str] | None = None) -> None:
        self.folder = folder
        self._servers = servers or {}

    def run(self, command: str) -> tuple[int, list[str]]:
        """The exit status of a command and the lines it printed."""
        real = self.real(command)
        (program, *arguments), *more = simple(real)
        assert program in RUN, f"{program}: not run by tests; mark the block as shown"
        if program == "discernmem" and not more:
            status, out = self._ours(arguments)
        else:
            status, out = self._shell(real)
        for written, address in self._servers.items():
            out = out.replace(address, written)
        return status, [line.rstrip() for line in out.rstrip("\n").splitlines()]

    def real(self, text: str) -> str:
        """A text of the page with the addresses where the servers really are."""
        for written, address in self._servers.items():
            text = text.replace(written, address)
        return text

    def _ours(self, arguments: list[str]) -> tuple[int, str]:
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        status = 0
        with (
            contextlib.chdir(self.folder),
            _environment(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            try:
                main(arguments)
            except SystemExit as ended:
                status = int(ended.code or 0)
        return status, out.buffer.getvalue().decode()  # type: ignore[attr-defined]

    def _shell(self, command: str) -> tuple[int, str]:
        ours = (
            'discernmem() { "$PYTHON" -m discernmem.cli "$@"; }\n'
            'python() { "$PYTHON" "$@"; }\n'
            'sqlite-utils() { "$PYTHON" -m sqlite_utils "$@"; }\n'
        )
        with _environment():
            done = subprocess.run(
                ["bash", "-c", ours + command],
                cwd=self.folder,
                env={**os.environ, "PYTHON": sys.executable, "PYTHONUTF8": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return done.returncode, done.stdout.decode()

    def repeat(self, step: Step) -> list[str]:
        """Run a step and return what it printed, which fails only where a complaint is shown.

        Where there is no sqlite3 its question is asked all the same, and what is shown is returned.
        """
        words = simple(step.command)[0]
        if words[0] == "sqlite3" and shutil.which("sqlite3") is None:
            *_, log, question = words
            with contextlib.closing(sqlite3.connect(self.folder / log)) as opened:
                values = [str(value) for row in opened.execute(question) for value in row if value]
            assert all(value in "\n".join(step.shown) for value in values)
            return list(step.shown)
        status, lines = self.run(step.command)
        if step.shown:
            said = "\n".join(lines)
            assert bool(status) == step.fails, f"$ {step.command}: status {status}\n{said}"
        return lines


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """The environment of a session: no log named, no key, columns that are the same everywhere."""
    before = dict(os.environ)
    for key in [key for key in before if key.startswith("DISCERNMEM_")]:
        del os.environ[key]
    os.environ |= {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before["PATH"]])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def as_shown(shown: tuple[str, ...], real: list[str]) -> bool:
    """Whether what is shown is what was printed, as far as it is shown."""
    pattern = ""
    for line in shown:
        if line == CUT:
            pattern += r"(?:.*\n)*?"
        elif line.endswith(CUT):
            pattern += re.escape(line[:-1]) + r".*\n"
        else:
            pattern += re.escape(line) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in real)) is not None


def shown_anew(shown: tuple[str, ...], real: list[str]) -> tuple[str, ...]:
    """What was printed, cut as it was cut before: as many lines at the ends, lines as long."""
    if as_shown(shown, real):
        return shown
    width = max((len(line) for line in shown if line != CUT and line.endswith(CUT)), default=0)

    def cut(line: str) -> str:
        return line[: width - 1].rstrip() + CUT if 0 < width < len(line) else line

    if CUT not in shown:
        return tuple(map(cut, real))
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == CUT:
            parts.append([])
        else:
            parts[-1].append(line)
    first, *middle, last = map(len, parts)
    end = len(real) - last
    found = real[:first]
    at = first
    for old, size in zip(parts[1:-1], middle, strict=True):
        # A part within is found again by its first line, or else left out.
        begin = old[0].rstrip(CUT)
        start = next((n for n in range(at, end) if real[n].startswith(begin)), None)
        if start is not None:
            found += [CUT, *real[start : start + size]]
            at = start + size
    return tuple(map(cut, [*found, CUT, *real[max(at, end) :]]))
