"""Teams: what a host is to this project, and how one is found by its name."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

from ...eventlog.errors import BadInput
from .base import Host
from .files import parse_host


def open_host(name: str) -> Host:
    """A host that ships with the package, by name, or a team of one's own, by its TOML file.

    Raises:
        BadInput: no such host, or its file is not a usable team.
    """
    if name.endswith(".toml"):
        return parse_host(_own(Path(name)), name)
    if name not in shipped_hosts():
        raise BadInput(
            f"host {name!r} is unknown; known hosts: {', '.join(shipped_hosts())}, or the path of "
            "a TOML file that ends in .toml"
        )
    text = (resources.files(__package__) / f"{name}.toml").read_text("utf-8")
    return parse_host(tomllib.loads(text), name)


def shipped_hosts() -> tuple[str, ...]:
    """The names of the hosts that ship with the package."""
    entries = resources.files(__package__).iterdir()
    return tuple(sorted(entry.name[:-5] for entry in entries if entry.name.endswith(".toml")))


def _own(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"host {path}: {error.strerror}; name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"host {path}: is not TOML: {error}") from None
