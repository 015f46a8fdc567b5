"""Stopped by a signal at any moment: nothing is lost, and one line says how to go on."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from processes import story
from standing_in import StandIn, standing_in
from terminals import COMMAND, PATIENCE, terminal

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.replayers.session import holds_run, is_finished
from discernmem.replayers.verification import verify_run

CTRL_C = "\x03"


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with standing_in(tmp_path) as running:
        yield running


@pytest.fixture
def whole(stand_in: StandIn) -> list[tuple[object, ...]]:
    """What an undisturbed run records."""
    main(stand_in.run)
    recorded = story(stand_in.log)
    for path in stand_in.folder.glob("run.db*"):
        path.unlink()
    stand_in.asked = 0
    return recorded


def started(*arguments: str) -> subprocess.Popen[str]:
    """A command without a terminal that takes interruptions, as one in front does."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def replies(log: Path) -> int:
    with EventLog.open(log) as opened:
        return sum(1 for _ in opened.read(types=("ModelReplied",)))


def ended(log: Path) -> bool:
    """Whether there is a run that came to its end, however the process that recorded it did."""
    if not holds_run(log):
        return False
    with EventLog.open(log) as opened:
        return is_finished(opened)


def goes_on(line: str, log: Path) -> list[str]:
    """The command that the one line names; the log it is about is whole and closed."""
    found = re.search(
        r"interrupted; (.+) ends at event (\d+), (\d) of 4 tasks are done; `(.+)` goes on", line
    )
    assert found, line
    assert found[1] == str(log)
    report = verify_run(log)
    assert report.ok
    assert report.checked == int(found[2])
    head = log.with_name(f"{log.name}.head").read_text()
    assert report.head is not None
    assert report.head.to_text() == head
    assert not log.with_name(f"{log.name}.lock").exists()
    command = shlex.split(found[4])
    assert command[0] == "discernmem"
    return command[1:]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("moment", Random(1).sample(range(2, 30), 2))
def test_the_first_signal_keeps_the_answer_that_is_waited_for(
    moment: int,
    number: signal.Signals,
    status: int,
    stand_in: StandIn,
    whole: list[tuple[object, ...]],
) -> None:
    process: list[subprocess.Popen[str]] = []

    def interrupt(asked: int) -> None:
        if asked == moment:
            process[0].send_signal(number)

    stand_in.before = interrupt
    process.append(started(*stand_in.run))
    _, err = process[0].communicate(timeout=PATIENCE)
    assert process[0].returncode == status
    assert stand_in.asked == moment, "nothing more was asked"
    assert replies(stand_in.log) == moment, "what was answered is kept"
    assert len(err.splitlines()) == 1
    command = goes_on(err, stand_in.log)
    assert command == ["resume", str(stand_in.log)]
    stand_in.before = lambda _: None
    main(command)
    assert story(stand_in.log) == whole


def test_the_second_one_does_not_wait(stand_in: StandIn, whole: list[tuple[object, ...]]) -> None:
    released = stand_in.hold(6)
    with terminal(*stand_in.run, stdout=stand_in.folder / "out.txt", columns=200) as shown:
        shown.read_until(r"task \d of 4")
        while stand_in.asked < 6:
            shown._read()
        shown.type(CTRL_C)
        shown.read_until("stops once this answer is there, Ctrl-C again stops at once")
        shown.type(CTRL_C)
        assert shown.ended() == 130
        line = "".join(shown.last_screen())
    released.set()
    assert replies(stand_in.log) == 5
    main(goes_on(line, stand_in.log))
    assert story(stand_in.log) == whole


@pytest.mark.parametrize("seed", range(3))
def test_at_any_moment_and_again_and_again_it_comes_to_the_same_end(
    seed: int, stand_in: StandIn, whole: list[tuple[object, ...]]
) -> None:
    """Random moments, some before anything is recorded, until a run comes to its end."""
    dice = Random(seed)
    command = stand_in.run
    for _ in range(4):
        process = started(*command)
        try:
            process.wait(dice.uniform(0.5, 3.5))
        except subprocess.TimeoutExpired:
            process.send_signal(dice.choice((signal.SIGINT, signal.SIGTERM)))
            if dice.random() < 0.5:
                process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        if ended(stand_in.log):
            break
        # Python itself ends by the signal while it starts.
        assert process.returncode in (130, 143, -signal.SIGINT, -signal.SIGTERM), err
        if "ends at event" in err:
            command = goes_on(err.splitlines()[-1], stand_in.log)
        elif process.returncode > 0:
            assert re.search("nothing was (recorded|changed), run it again", err), err
    # A log without any event may be left: that is taken over.
    main(["resume", str(stand_in.log)] if holds_run(stand_in.log) else stand_in.run)
    assert story(stand_in.log) == whole


def test_in_the_background_of_a_shell_an_interruption_is_not_for_it(stand_in: StandIn) -> None:
    process: list[subprocess.Popen[bytes]] = []

    def interrupt(asked: int) -> None:
        if asked == 3:
            process[0].send_signal(signal.SIGINT)

    stand_in.before = interrupt
    process.append(
        subprocess.Popen(
            [sys.executable, "-m", "discernmem.cli", *stand_in.run],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
    )
    _, err = process[0].communicate(timeout=PATIENCE)
    assert (process[0].returncode, err) == (0, b"")


def interrupted_at(stand_in: StandIn, moment: int, *arguments: str) -> str:
    """The one line of a command that is interrupted at its so-many-th question."""
    process: list[subprocess.Popen[str]] = []
    before = stand_in.asked

    def interrupt(asked: int) -> None:
        if asked == before + moment:
            process[0].send_signal(signal.SIGINT)

    stand_in.before = interrupt
    process.append(started(*arguments))
    _, err = process[0].communicate(timeout=PATIENCE)
    stand_in.before = lambda _: None
    assert process[0].returncode == 130, err
    (line,) = err.splitlines()
    return line


def test_the_options_of_a_run_are_in_the_command_that_goes_on(stand_in: StandIn) -> None:
    states = str(stand_in.folder / "my states")
    line = interrupted_at(stand_in, 9, *stand_in.run, "--until", "3", "--dump-states", states)
    command = goes_on(line, stand_in.log)
    assert command == ["resume", str(stand_in.log), "--until", "3", "--dump-states", states]


def test_a_fork_is_gone_on_with_as_a_log(stand_in: StandIn) -> None:
    main(stand_in.run)
    out = stand_in.folder / "a fork.db"
    fork = ["fork", str(stand_in.log), "--at", "1", "--out", str(out), "--set", "seed=9"]
    line = interrupted_at(stand_in, 2, *fork)
    whole = stand_in.folder / "whole.db"
    main([*fork[:4], "--out", str(whole), *fork[6:]])
    command = goes_on(line, out)
    assert command == ["resume", str(out)]
    main(command)
    # The way to the origin is that of the place, and both are in one.
    assert story(out) == story(whole)


def test_a_sweep_is_run_again(stand_in: StandIn) -> None:
    def sweep(name: str) -> list[str]:
        folder = str(stand_in.folder / name)
        options = [*stand_in.options, "--tasks", "2"]
        return ["sweep", folder, "--vary", "k_inj=0,1", *options]

    line = interrupted_at(stand_in, 3, *sweep("stopped"))
    assert line == (
        f"discernmem: interrupted; what is in {stand_in.folder / 'stopped'} is kept, "
        "run it again to go on"
    )
    main(sweep("stopped"))
    main(sweep("whole"))
    for name in ("k_inj=0.db", "k_inj=1.db"):
        assert story(stand_in.folder / "stopped" / name) == story(stand_in.folder / "whole" / name)


@pytest.mark.parametrize("command", [["verify"], ["replay", "--offline"], ["export"]])
def test_where_nothing_is_written_nothing_was_changed(
    command: list[str], stand_in: StandIn
) -> None:
    """Interrupted as soon as the log is open."""
    main(stand_in.run)
    before = {path: path.read_bytes() for path in stand_in.folder.glob("run.db*")}
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from discernmem.eventlog.log import EventLog\n"
        "opened = EventLog.open\n"
        "def interrupting(*given, **named):\n"
        "    log = opened(*given, **named)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return log\n"
        "EventLog.open = interrupting\n"
        "from discernmem.cli import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command, str(stand_in.log)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "discernmem: interrupted; nothing was changed, run it again\n"
    assert {path: path.read_bytes() for path in stand_in.folder.glob("run.db*")} == before


def test_an_interruption_while_the_commands_are_loaded_costs_one_line() -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'discernmem.cli.recording':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from discernmem.cli import main; main(['--help'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "discernmem: interrupted; nothing was changed, run it again\n"


def test_an_index_that_is_interrupted_leaves_no_file(tmp_path: Path) -> None:
    passages = tmp_path / "p.jsonl"
    os.mkfifo(passages)
    process = started("index", str(passages), "--out", str(tmp_path / "p.index"))
    with passages.open("w") as pipe:
        pipe.write('{"title": "a", "text": "b"}\n')
        pipe.flush()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert err == "discernmem: interrupted; nothing was changed, run it again\n"
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_no_child_is_left(tmp_path: Path) -> None:
    """A team that is a command, in a session of its own, stopped while it thinks."""
    pid = tmp_path / "pid"
    team = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with standing_in(tmp_path) as stand_in:
        command = [sys.executable, "-c", team]
        (tmp_path / "team.toml").write_text(
            f'name = "slow"\n[gateway]\nroles = ["thinker"]\ncommand = {json.dumps(command)}\n'
        )
        run = [*stand_in.run, "--host", str(tmp_path / "team.toml")]
        with terminal(*run, stdout=tmp_path / "out.txt") as shown:
            while not pid.exists() or not pid.read_text():
                shown._read()
            shown.type(CTRL_C)
            assert shown.ended() == 130
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        assert verify_run(stand_in.log).ok
