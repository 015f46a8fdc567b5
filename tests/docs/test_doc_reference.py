"""The reference is what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from doc_pages import DOCS

from discernmem.cli.commands import cli
from discernmem.eventlog.events import EVENT_TYPES

GENERATE = DOCS / "generate.py"


def generate(*arguments: str, program: Path = GENERATE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, program, *arguments], capture_output=True, text=True, check=False
    )


def copy(folder: Path) -> Path:
    """The generator with its meanings and pages, in a folder where they may be changed."""
    for source in [*DOCS.glob("*.py"), *DOCS.rglob("generating/*.py"), DOCS / "meanings.toml"]:
        target = folder / source.relative_to(DOCS)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(source.read_bytes())
    return folder / "generate.py"


def test_the_pages_of_the_reference_are_those_the_code_gives() -> None:
    done = generate("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_page_a_missing_one_and_one_of_nothing_are_named(tmp_path: Path) -> None:
    program = copy(tmp_path)
    assert generate(program=program).returncode == 0
    pages = tmp_path / "reference"
    (pages / "views.md").write_text("old")
    (pages / "events.md").unlink()
    (pages / "other.md").write_text("of nothing")
    done = generate("--check", program=program)
    assert done.returncode == 1
    assert "events.md, other.md, views.md not up to date" in done.stderr
    assert generate(program=program).returncode == 0
    assert generate("--check", program=program).returncode == 0
    assert not (pages / "other.md").exists()


def test_a_meaning_that_is_missing_or_of_nothing_is_named(tmp_path: Path) -> None:
    program = copy(tmp_path)
    meanings = tmp_path / "meanings.toml"
    text = meanings.read_text("utf-8")
    meanings.write_text(text.replace("trigger_task =", "trigger_taks ="), "utf-8")
    done = generate(program=program)
    assert done.returncode == 1
    assert "[view] repairs.trigger_task is missing" in done.stderr
    assert "[view] trigger_taks is in nothing" in done.stderr


def test_every_command_and_every_event_has_its_heading() -> None:
    commands = (DOCS / "reference" / "commands.md").read_text("utf-8")
    assert all(f"\n## discernmem {name}\n" in commands for name in cli.commands)
    events = (DOCS / "reference" / "events.md").read_text("utf-8")
    assert all(f"\n### {name}\n" in events for name in EVENT_TYPES)
