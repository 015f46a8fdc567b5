"""Long commands on real terminals: what is to be seen there, and that it changes nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import story
from standing_in import TASKS, StandIn, standing_in
from terminals import terminal

from discernmem.cli import main

BAR = "[━╺╸ ]+"
FACT = r"(about [\d,]+ executions? left|\d+ tokens/s|about .+ left|[\d,]+ executions? saved)"
FACTS = rf"{FACT}(, {FACT})*"
BETWEEN = [["opens what the run asks"], ["opens the next task"], ["closes the log"]]
WIDE = 100


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with standing_in(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with standing_in(tmp_path_factory.mktemp("recorded")) as running:
        main(running.run)
    return running.log


def unwatched(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discernmem.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_run_is_drawn_within_any_width_and_leaves_its_summary_alone(
    columns: int, stand_in: StandIn
) -> None:
    out = stand_in.folder / "out.txt"
    released = stand_in.hold(9)
    with terminal(*stand_in.run, columns=columns, stdout=out) as shown:
        shown.read_until(r"task \d of 4")
        released.set()
        assert shown.ended() == 0
        frames = [frame for frame in shown.screens() if frame]
    tasks = set()
    for frame in frames:
        assert all(len(line) < columns for line in frame)
        words, bar, facts = _parted(frame)
        assert 1 <= len(words) <= 2, frame
        place = re.match(r"task (\d) of 4 q(\d)", words[0])
        assert place or words in BETWEEN, frame
        if place:
            assert place[1] == place[2]
            tasks.add(place[1])
            assert re.fullmatch(rf"{BAR} \d of 4 tasks", bar), frame
        for line in facts:
            assert re.fullmatch(FACTS, line), frame
    assert tasks, "at least one task was seen"
    assert shown.last_screen() == [], "nothing of it stays"
    assert out.read_text() == unwatched_out(stand_in)


def _parted(frame: list[str]) -> tuple[list[str], str, list[str]]:
    """The lines before the bar, the bar, and the lines after it."""
    at = next(number for number, line in enumerate(frame) if line.lstrip()[:1] in "━╺╸")
    return frame[:at], frame[at], frame[at + 1 :]


def unwatched_out(stand_in: StandIn) -> str:
    """What the same run says where nobody watches; it must record the same, too."""
    watched = stand_in.log.rename(stand_in.folder / "watched.db")
    done = unwatched(*stand_in.run)
    assert (done.returncode, done.stderr) == (0, "")
    assert story(watched) == story(stand_in.log)
    return done.stdout


def test_a_run_whose_output_goes_to_the_terminal_too_ends_with_its_summary(
    stand_in: StandIn,
) -> None:
    with terminal(*stand_in.run, columns=WIDE) as shown:
        assert shown.ended() == 0
        seen = shown.last_screen()
    assert seen[0].startswith("autogen on reading, 4 tasks; m; embedder wordllama")
    assert re.match(r"t +task +score", seen[1])
    assert seen[-1].startswith("mean score") or "mean score" in seen[-2]
    assert not [line for line in seen if "━" in line or "tokens/s" in line]


def test_a_terminal_that_changes_its_width_is_drawn_in_the_new_one(stand_in: StandIn) -> None:
    with terminal(*stand_in.run, columns=WIDE, stdout=stand_in.folder / "out.txt") as shown:

        def narrower(asked: int) -> None:
            if asked == 10:
                shown.resize(40)

        stand_in.before = narrower
        assert shown.ended() == 0
        assert shown.last_screen() == []


def test_no_color_and_a_dumb_terminal_are_respected(stand_in: StandIn) -> None:
    out = stand_in.folder / "out.txt"
    with terminal(*stand_in.run, stdout=out, environment={"NO_COLOR": "1"}) as shown:
        assert shown.ended() == 0
        assert "━" in shown.raw
        assert not re.search(r"\x1b\[[\d;]*m", shown.raw)
    stand_in.log.unlink()
    with terminal(*stand_in.run, stdout=out, environment={"TERM": "dumb"}) as shown:
        assert shown.ended() == 0
        assert shown.raw == ""


@pytest.mark.parametrize(
    "arguments", [["replay", "--offline"], ["verify"]], ids=["replay", "verify"]
)
def test_checks_are_drawn_and_leave_their_answer_only(arguments: list[str], recorded: Path) -> None:
    with terminal(*arguments, str(recorded)) as shown:
        assert shown.ended() == 0
        said = unwatched(*arguments, str(recorded))
        assert "".join(shown.last_screen()) == said.stdout.replace("\n", "")
    assert said.stderr == ""


def test_an_index_of_passages_is_drawn(tmp_path: Path) -> None:
    with (tmp_path / "some.jsonl").open("w") as out:
        for number in range(20_000):
            out.write(json.dumps({"title": f"t{number}", "text": "words " * 20}) + "\n")
    with terminal("index", str(tmp_path / "some.jsonl")) as shown:
        assert shown.ended() == 0
        assert "passages of some.jsonl" in shown.raw
        assert re.search(r"[\d,]+ of [\d,]+ bytes", shown.raw)
        assert "".join(shown.last_screen()).startswith(
            f"{tmp_path / 'some.jsonl.index.db'}: 20000 p"
        )


def test_a_fork_is_drawn(stand_in: StandIn) -> None:
    assert unwatched(*stand_in.run).returncode == 0
    fork = ["fork", str(stand_in.log), "--at", "2", "--out", str(stand_in.folder / "fork.db")]
    released = stand_in.hold(stand_in.asked + 1)
    out = stand_in.folder / "out.txt"
    with terminal(*fork, "--set", "seed=7", stdout=out, columns=WIDE) as shown:
        shown.read_until(r"task [34] of 4 q[34]: (.*: )?\w+ of \w+")
        released.set()
        assert shown.ended() == 0
        assert shown.last_screen() == []


def test_a_sweep_is_drawn_as_one_way_to_go(stand_in: StandIn) -> None:
    sweep = ["sweep", str(stand_in.folder / "sweep"), "--vary", "k_inj=0,1", *stand_in.options]
    out = stand_in.folder / "out.txt"
    released = stand_in.hold(1)
    with terminal(*sweep, "--tasks", "2", stdout=out, columns=WIDE) as shown:
        shown.read_until("run 1 of 2 k_inj=0: task 1 of 2 q1: execution of q1: answer of assistant")
        shown.read_until("0 of 4 tasks")
        # The second run is served by the first up to where a rule could be supplied.
        first = stand_in.asked
        released.set()
        shown.read_until("run 2 of 2 k_inj=1: ")
        assert shown.ended() == 0
        assert first == 1
        assert shown.last_screen() == []


def test_in_the_background_the_terminal_belongs_to_others(stand_in: StandIn) -> None:
    """A shell that has the terminal, and starts the run as another group of processes."""
    shell = (
        "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-m', 'discernmem.cli',"
        " *sys.argv[1:]], process_group=0).returncode)"
    )
    out = stand_in.folder / "out.txt"
    command = (sys.executable, "-c", shell)
    with terminal(*stand_in.run, stdout=out, command=command) as shown:
        assert shown.ended() == 0
        assert "━" not in shown.raw


def test_demo_offers_its_progress_as_well() -> None:
    assert TASKS == 4
    for name in ("run", "resume", "fork", "sweep", "replay", "verify", "index", "demo", "gateway"):
        assert "--log-json" in unwatched(name, "--help").stdout, name
