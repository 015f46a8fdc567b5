"""A team that is a command: started once per pass, told its work, its output the action."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...eventlog.errors import Infrastructure
from ..models.cards import clean
from .desk import Answer, Desk, Trouble

BASE_URL = "DISCERNMEM_BASE_URL"
"""The variable that holds the address of the run; a role's base URL is ``…/role/ROLE/v1``."""

_TOLD_LINES = 5


@contextmanager
def running(
    command: Sequence[str], folder: Path, work: Mapping[str, Any], url: str, desk: Desk
) -> Iterator[None]:
    """Start a command in ``folder`` for one pass, and lay on the desk how it ends.

    Args:
        command: the program and its arguments.
        folder: where it is started.
        work: what it reads, as one JSON line, from its standard input.
        url: the address of the run.
        desk: gets its `Answer`, or its `Trouble`.

    Raises:
        Infrastructure: it cannot be started.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise Infrastructure(
            f"{command[0]}: cannot be started ({error.strerror}); correct the host's command"
        ) from None

    def watch() -> None:
        out, err = process.communicate(json.dumps(work).encode() + b"\n")
        desk.put(_ended(work["run"], process.returncode, out, err))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        if watcher.is_alive():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        watcher.join()


def _environment(url: str) -> dict[str, str]:
    """The command's environment: what it may need to find the gateway, and to repeat itself."""
    own = os.environ
    direct = {
        name: ",".join(filter(None, (own.get(name), "127.0.0.1")))
        for name in ("NO_PROXY", "no_proxy")
    }
    defaults = {"OPENAI_API_KEY": "none", "PYTHONHASHSEED": "0"}
    return {**defaults, **own, **direct, BASE_URL: url}


def _ended(run: str, status: int, out: bytes, err: bytes) -> Answer | Trouble:
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return Trouble(run=run, reason=f"{how}{_last_lines(err)}")
    text = _answer(out.decode("utf-8", "replace"))
    if text is None:
        return Trouble(run=run, reason=f"printed no answer{_last_lines(err)}")
    return Answer(run=run, text=text)


def _answer(out: str) -> str | None:
    """The last line's ``answer`` if that is a JSON object with one, else all that was printed."""
    text = out.strip()
    try:
        found = json.loads(text.splitlines()[-1])
        answer = found["answer"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return text or None
    return clean(answer) if isinstance(answer, str) else None


def _last_lines(err: bytes) -> str:
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {' / '.join(lines[-_TOLD_LINES:])}" if lines else " and said nothing about it"
