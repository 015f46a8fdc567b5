"""What this machine offers to a run, found by looking and not by guessing."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ..eventlog.errors import DiscernmemError
from ..sandbox import check
from ..sandbox.opening import open_way
from .benchmarks import SHIPPED
from .hosts import shipped_hosts
from .plugins import BENCHMARKS, EMBEDDERS, HOSTS, MODELS, plugin_names, refusals

Finding = tuple[str, str]


def examine(folder: Path = Path()) -> Iterator[Finding]:
    """Name and finding of everything a run depends on, one line each; never raises."""
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "SQLite", _sqlite()
    yield "llama.cpp", _llama()
    yield "device", _device()
    yield "constrained decoding", _constraints()
    yield "bundled model", _bundled()
    yield "embedder", _embedder()
    yield from _sandbox()
    yield from _plugins()
    yield "free disk", _disk(folder)


def _sqlite() -> str:
    enough = sqlite3.sqlite_version_info >= (3, 38)
    return sqlite3.sqlite_version + ("" if enough else " — too old, 3.38 or newer is needed")


def _llama() -> str:
    try:
        return f"llama-cpp-python {metadata.version('llama-cpp-python')}"
    except metadata.PackageNotFoundError:
        return "not installed — `pip install 'discernmem[llama]'`, or use a server"


def _device() -> str:
    try:
        from .models.llama.library import device, load_library

        return f"{device(load_library(), gpu_layers=-1)} computes local models"
    except (DiscernmemError, ImportError, OSError) as error:
        return f"none for local models ({error})"


def _constraints() -> str:
    try:
        return f"llguidance {metadata.version('llguidance')}"
    except metadata.PackageNotFoundError:
        return "GBNF (slower; `pip install llguidance`)"


def _bundled() -> str:
    try:
        from .models.sources import bundled_model

        path = bundled_model()
        return f"{path.name}, {path.stat().st_size / 2**20:.0f} MiB, checksum right"
    except (DiscernmemError, OSError) as error:
        return f"missing — {error}"


def _embedder() -> str:
    try:
        return f"wordllama {metadata.version('wordllama')}"
    except metadata.PackageNotFoundError:
        return "not installed — `pip install wordllama`"


def _sandbox() -> Iterator[Finding]:
    """How well code written by a model is jailed here: a summary, then each attack tried."""
    try:
        level = open_way("bubblewrap").isolation
        tried = list(check())
    except (DiscernmemError, OSError) as error:
        yield "sandbox", f"none — {error}"
        return
    stopped = sum(one.stopped for one in tried)
    yield "sandbox", f"{level}: {stopped} of {len(tried)} hostile programs stopped"
    for one in tried:
        name = "sandbox stops" if one.stopped else "sandbox FAILS to stop"
        yield name, f"{one.attack} ({one.how})"


def _plugins() -> Iterator[Finding]:
    """What other distributions offer, and what of it is never used."""
    for group, built_in in (
        (HOSTS, shipped_hosts()),
        (BENCHMARKS, tuple(SHIPPED)),
        (MODELS, ()),
        (EMBEDDERS, ()),
    ):
        refused = refusals(group, built_in)
        offered = [name for name in plugin_names(group) if name not in built_in]
        if offered:
            yield f"plugins, {group.rpartition('.')[2]}", ", ".join(offered)
        yield from (("plugin refused", line) for line in refused)


def _disk(folder: Path) -> str:
    try:
        return f"{shutil.disk_usage(folder).free / 2**30:.1f} GiB in {folder.resolve()}"
    except OSError as error:
        return f"unknown — {error}"
