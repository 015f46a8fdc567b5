"""Somebody else's code that fails costs one line that names the place in it, never a traceback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from standing_in import StandIn, standing_in

from discernmem.cli import main
from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.plugins import blaming
from discernmem.replayers.verification import verify_run

HOST = """
import json, sys
from discernmem.replayers.hosts import open_host

class Mine:
    name = "mine"
    team = open_host("autogen")
    roles = team.roles
    def facts(self, benchmark):
        return {**self.team.facts(benchmark), "name": "mine"}
    def play(self, benchmark, task, stage):
        if task.id == "q2" and not FIXED:
            return self.stumble(task)  # line 13
        return self.team.play(benchmark, task, stage)
    def stumble(self, task):
        HOW  # line 16

mine = Mine()
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with standing_in(tmp_path) as running:
        yield running


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert stopped.value.code == 2
    err: str = capsys.readouterr().err
    assert err.startswith("discernmem: ")
    assert len(err.splitlines()) == 1
    return err


def host(folder: Path, how: str, *, fixed: bool = False) -> str:
    (folder / "mine.py").write_text(HOST.replace("HOW", how).replace("FIXED", str(fixed)))
    return f"{folder / 'mine.py'}:mine"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raise ValueError('no such tool')", "ValueError: no such tool"),
        ("json.loads('{')", "JSONDecodeError: Expecting property name"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("open_host(3)", "AttributeError"),
        ("raise ValueError('two\\nlines \\x1b[2J')", "ValueError: two"),
    ],
)
def test_a_team_that_fails_is_told_by_its_own_file_and_line(
    how: str, says: str, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = host(stand_in.folder, how)
    line = complaint(capsys, *stand_in.run, "--host", mine)
    place = f"{stand_in.folder / 'mine.py'}, line 16"
    assert f"host mine on task q2 of reading: fails at {place} ({says}" in line
    assert "correct it, then resume the log (DISCERNMEM_TRACEBACK=1 shows" in line
    assert "\x1b" not in line
    assert verify_run(stand_in.log).ok
    host(stand_in.folder, how, fixed=True)
    main(["resume", str(stand_in.log)])


def test_the_variable_shows_how_it_came_there(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCERNMEM_TRACEBACK", "1")
    with pytest.raises(SystemExit):
        main([*stand_in.run, "--host", host(stand_in.folder, "raise ValueError('no')")])
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert re.search(r'mine\.py", line 13, in play\n', err)
    assert err.splitlines()[-1].startswith("discernmem: host mine on task q2")


def test_check_team_tells_it_as_well(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    mine = host(stand_in.folder, "raise KeyError('tool')")
    line = complaint(capsys, "check-team", *stand_in.options, "--host", mine)
    assert f"host mine on task q2: fails at {stand_in.folder / 'mine.py'}, line 16 (KeyErr" in line


def test_a_team_whose_facts_fail_is_told_before_anything_is_recorded(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    (stand_in.folder / "mine.py").write_text(
        "class Mine:\n    name, roles = 'mine', ('a',)\n"
        "    def facts(self, benchmark):\n        return 1 / 0\n    play = facts\n"
    )
    line = complaint(capsys, *stand_in.run, "--host", f"{stand_in.folder / 'mine.py'}:Mine")
    assert "mine.py, line 4 (ZeroDivisionError: division by zero); correct it (" in line
    assert not stand_in.log.exists()


def test_what_says_itself_what_is_wrong_is_not_told_otherwise() -> None:
    for error in (BadInput("as it is"), Infrastructure("down")):
        with pytest.raises(type(error), match=str(error)), blaming("a team"):
            raise error


def test_a_mistake_of_ours_is_not_blamed_on_others() -> None:
    """As if it were made in a module of this package, in what it calls of the standard library."""
    scope = {"__name__": "discernmem.replayers.cycle", "blaming": blaming, "json": json}
    exec("def play():\n    with blaming('a team'):\n        json.loads('{')\n", scope)
    play = scope["play"]
    assert callable(play)
    with pytest.raises(json.JSONDecodeError):
        play()
