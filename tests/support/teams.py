"""Runs the script of a framework where that is installed, and reads what it saw of a team."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parent.parent


def python_of(framework: str) -> Path:
    """The interpreter of a framework's own environment."""
    variable = f"DISCERNMEM_{framework.upper()}_VENV"
    venv = Path(os.environ.get(variable) or ROOT / ".venv" / "frameworks" / framework)
    python = venv / "bin" / "python"
    if not python.exists():
        pytest.fail(
            f"{framework} has no environment: `make test` makes it, or name one in {variable}",
            pytrace=False,
        )
    return python


def seen(framework: str, folder: Path) -> dict[str, Any]:
    """What the script of a framework prints, run in the framework's own environment."""
    done = subprocess.run(
        [python_of(framework), SUPPORT.parent / "frameworks" / f"{framework}_lab.py", folder],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout)
    return told


class Team:
    """What one experiment saw of a team."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    def prompts(self, role: str, turn: int | None = None) -> list[str]:
        """All that each call of a role read, in order; those of its n-th turn in a pass, or all."""
        return [
            "\n\n".join(text for _, text in call["messages"])
            for call in self.told["calls"]
            if call["role"] == role and turn in (None, _turn(call["messages"]))
        ]

    @property
    def callers(self) -> list[str]:
        """The roles in the order of their recorded calls."""
        return [call["role"] for call in self.told["calls"]]

    def contexts(self, role: str) -> list[str]:
        """What a role was observed to see before its first call, task by task."""
        return [context for observed, context in self.told["contexts"] if observed == role]


def _turn(messages: list[list[str]]) -> int:
    return sum(chat_role == "assistant" for chat_role, _ in messages) + 1


def check_ownership(team: Team, owner: str, others: tuple[str, ...]) -> None:
    """Memories are in the owner's prompts once each, in no other's, and change nothing else."""
    given = [prompt for prompt in team.prompts(owner) if "<notes>" in prompt]
    assert given
    assert all(prompt.count("<notes>") == 1 for prompt in given)
    assert not [p for other in others for p in team.prompts(other) if "<notes>" in p]
    # At its first turn the owner has not yet said anything that a memory could have changed.
    first = set(team.prompts(owner, turn=1))
    bare = {prompt for prompt in first if "<notes>" not in prompt}
    assert {prompt.partition("\n\n<notes>")[0] for prompt in first - bare} <= bare
    assert all(prompt.endswith("</notes>") for prompt in first - bare)
