"""A team behind the gateway from its TOML table.

::

    name = "mine"
    [gateway]
    roles = ["planner", "writer"]        # the owners of memories
    others = ["selector"]                # recorded too, without memories
    command = ["python", "team.py"]      # once per pass; without it a driver fetches the work
    files = ["prompts.json"]             # what else the team is made of, besides its script
    timeout = 600                        # seconds of its own time per pass
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...eventlog.errors import BadInput
from ..hosts.values import known, one_line, texts
from .host import GatewayHost

_KEYS = frozenset({"roles", "others", "command", "files", "timeout"})


def parse_gateway(table: Mapping[str, Any], folder: Path, source: str) -> GatewayHost:
    """A host by gateway from its table.

    Args:
        table: with ``name`` and ``gateway``.
        folder: where its command is started and its files are.
        source: what the table is called in a message.

    Raises:
        BadInput: an unknown key, a role that is there twice, a command or file that is not there.
    """
    place = f"host {source}"
    known(table, frozenset({"name", "gateway"}), place)
    gateway, where = table["gateway"], f"{place}: [gateway]"
    known(gateway, _KEYS, where)
    roles = texts(gateway.get("roles"), f"{where} roles")
    others = texts(gateway.get("others", []), f"{where} others")
    if not roles:
        raise BadInput(f"{where} roles is empty; name those that own memories")
    for role in (every := [*roles, *others]):
        one_line(role, f"{where} role")
        if every.count(role) > 1:
            raise BadInput(f"{where} names role {role!r} twice; name each role once")
    command = texts(gateway.get("command", []), f"{where} command")
    if command:
        _require_program(command[0], folder, where)
    named = texts(gateway.get("files", []), f"{where} files")
    scripts = [word for word in command[1:] if (folder / word).is_file()]
    return GatewayHost(
        name=one_line(table.get("name"), f"{place}: name"),
        roles=tuple(roles),
        others=tuple(others),
        command=tuple(command),
        files={file: _digest(folder / file, where) for file in sorted({*named, *scripts})},
        folder=folder,
        timeout=_seconds(gateway.get("timeout", 600), where),
    )


def _require_program(word: str, folder: Path, where: str) -> None:
    """Refuse a program that is not there; one with a slash in it is looked for in ``folder``."""
    if shutil.which(folder.absolute() / word if "/" in word else word) is None:
        raise BadInput(f"{where} command: there is no program {word!r}; name one that can be run")


def _digest(path: Path, where: str) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(
            f"{where} files: {path.name}: {error.strerror}; name existing files"
        ) from None


def _seconds(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise BadInput(f"{where} timeout is {value!r}; give a number of seconds above 0")
    return float(value)
