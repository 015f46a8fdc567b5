"""What of this machine a jail may read: the interpreter, its libraries, and the jail's own code."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from ..eventlog.errors import Infrastructure

INSIDE = Path(__file__).parent / "inside"
CODE = "/jail"
SITE = "/jail/site"
WORK = "/tmp"

# What pytest imports; it must be visible in a jail that runs tests, and nothing else must.
_PYTEST = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")


def interpreter() -> str:
    """Path of the real interpreter behind a virtual environment."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(base)


def shown(*, tests: bool) -> list[str]:
    """bubblewrap arguments for a read-only system that can run the interpreter, and no more."""
    view = _View()
    view.empty("/dev")
    for device in ("null", "zero", "full", "random", "urandom"):
        view.arguments += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    for path in (*_libraries(), "/etc/ld.so.cache", *_python(), interpreter()):
        view.show(path)
    for path in _foreign_packages():
        view.empty(path)
    view.show(str(INSIDE), f"{CODE}/inside")
    if tests:
        for package in pytest_packages():
            view.show(os.path.realpath(package), f"{SITE}/{package.name}")
    return [*view.arguments, *(part for place in view.sealed for part in ("--remount-ro", place))]


class _View:
    """Arguments that build up what a jail sees; folders on the way are open to everyone."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.sealed: list[str] = []
        self._made: set[str] = {"/"}
        self._shown: list[str] = []

    def show(self, path: str, place: str = "") -> None:
        """Show a file, folder or link of this machine, if it is there and not shown already."""
        place = place or path
        if any(os.path.commonpath([other, place]) == other for other in self._shown):
            return
        if os.path.islink(path):
            self._parents(place)
            self.arguments += ["--symlink", os.readlink(path), place]
        elif os.path.exists(path):
            self._parents(place)
            self.arguments += ["--ro-bind", path, place]
            self._shown.append(place)

    def empty(self, place: str) -> None:
        """Show an empty folder, whatever lies there on this machine."""
        self.arguments += ["--perms", "0755", "--tmpfs", place]
        self.sealed.append(place)

    def _parents(self, place: str) -> None:
        for parent in reversed(Path(place).parents):
            if str(parent) not in self._made:
                self._made.add(str(parent))
                self.arguments += ["--perms", "0755", "--dir", str(parent)]


def _libraries() -> Iterator[str]:
    """Where the shared libraries lie; on Debian, which keeps them apart, nothing beside them."""
    kind = sysconfig.get_config_var("MULTIARCH") or ""
    for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store"):
        narrow = os.path.join(path, kind)
        yield narrow if kind and os.path.isdir(narrow) and not os.path.islink(path) else path


def _python() -> Iterator[str]:
    """Where the standard library lies, with its own shared libraries where it brings some."""
    if sys.base_prefix == "/usr":
        yield from {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
        return
    for folder in ("lib", "lib64"):
        yield os.path.join(sys.base_prefix, folder)


def _foreign_packages() -> Iterator[str]:
    """Folders of installed packages that lie inside the bound library folders."""
    library = sysconfig.get_path("stdlib")
    places = [os.path.join(library, name) for name in ("site-packages", "dist-packages")]
    yield from filter(os.path.isdir, places)


@functools.cache
def pytest_packages() -> tuple[Path, ...]:
    """Where the packages lie that pytest needs.

    Raises:
        Infrastructure: pytest is not installed beside this project.
    """
    found = []
    for name in _PYTEST:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            found.append(origin.parent if origin.name == "__init__.py" else origin)
        elif name not in ("py", "pygments"):
            raise Infrastructure(
                f"sandbox: {name} is not installed, hidden tests cannot run: pip install pytest"
            )
    return tuple(found)
