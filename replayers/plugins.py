"""Hosts, benchmarks, models and embedders of other distributions, found by their entry points.

A distribution offers one with a line such as ``guess = "package:GuessBenchmark"`` under
``[project.entry-points."discernmem.benchmarks"]``. Nothing of a plugin is imported before it is
asked for by its name.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

from ..eventlog.errors import BadInput, DiscernmemError

Made = TypeVar("Made")

HOSTS = "discernmem.hosts"
"""Group of callables without arguments that return a host."""

BENCHMARKS = "discernmem.benchmarks"
"""Group of callables that take the options of ``[benchmark]`` and return a benchmark."""

MODELS = "discernmem.models"
"""Group of callables that take what follows the name in ``NAME:REST`` and return a model."""

_OURS = f"{__package__.partition('.')[0]}."

EMBEDDERS = "discernmem.embedders"
"""Group of callables that take what follows the name in ``NAME:REST`` and return an embedder."""


def plugin(group: str, name: str) -> object | None:
    """What is offered as ``name`` in ``group``, or None if nobody offers it.

    A built-in name is for the caller to look up first: it wins over every plugin.

    Raises:
        BadInput: two distributions offer the name, or its distribution cannot be imported.
    """
    offered = _offered(group, name)
    if not offered:
        return None
    if len(offered) > 1:
        raise BadInput(
            f"{_kind(group)} {name!r} is offered by {' and by '.join(map(_origin, offered))}: "
            "uninstall all but one"
        )
    try:
        loaded: object = offered[0].load()
    except (Exception, SystemExit) as error:  # whatever a module does while it is imported
        raise BadInput(
            f"{_kind(group)} {name!r} of {_origin(offered[0])} cannot be loaded "
            f"({_first_line(error)}): repair or uninstall it"
        ) from None
    return loaded


def made(what: str, make: Callable[..., Made], *given: object, **options: object) -> Made:
    """What somebody else's class or function makes.

    Args:
        what: what is made, for the message.
        make: the class or function, called with the rest.

    Raises:
        BadInput: it fails, in other words than ours.
    """
    try:
        return make(*given, **options)
    except DiscernmemError:
        raise
    except Exception as error:  # whatever it does while it is made
        raise BadInput(
            f"{what}: cannot be made ({_first_line(error)}); correct what it is given, or its code"
        ) from None


@contextmanager
def blaming(what: str, remedy: str = "correct it") -> Iterator[None]:
    """Tell in one line where somebody else's code inside fails.

    Args:
        what: whose code it is, for the message.
        remedy: what to do then.

    Raises:
        BadInput: it failed in other words than ours; names the innermost place that is not
            ours, which may have called what failed.
    """
    try:
        yield
    except DiscernmemError:
        raise
    except (Exception, SystemExit) as error:  # whatever the code of others does
        place = _place(error)
        if place is None:
            raise
        raise BadInput(
            f"{what}: fails at {place} ({_first_line(error)}); {remedy} "
            "(DISCERNMEM_TRACEBACK=1 shows how it came there)"
        ) from error


def _place(error: BaseException) -> str | None:
    """File and line of the innermost frame that others wrote, before a library they call."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not str(frame.f_globals.get("__name__", "")).startswith(_OURS)
    ]
    outside = [place for place in frames if not _within(place[0], "stdlib", "platstdlib")]
    own = [place for place in outside if not _within(place[0], "purelib", "platlib")]
    file, line = (own or outside or [("", 0)])[-1]
    return f"{file}, line {line}" if file else None


def _within(file: str, *folders: str) -> bool:
    """Whether a file is in one of Python's own folders, or in none because it is built in."""
    if file.startswith("<frozen"):
        return True
    # A library installed by its distribution lies below the standard one, and is none of it.
    below = [Path(sysconfig.get_path(name)) for name in folders]
    installed = any(part in ("site-packages", "dist-packages") for part in Path(file).parts)
    if "stdlib" in folders and installed:
        return False
    return any(Path(file).is_relative_to(folder) for folder in below)


def plugin_names(group: str) -> tuple[str, ...]:
    """The names offered in ``group``, in alphabetical order; nothing is imported for it."""
    return tuple(sorted(entry_points(group=group).names))


def refusals(group: str, built_in: Collection[str]) -> tuple[str, ...]:
    """One line for each plugin that is never used because its name is one of ``built_in``."""
    return tuple(
        f"{_kind(group)} {each.name!r} of {_origin(each)} is refused: the name is built in, "
        "it needs another one"
        for name in sorted(built_in)
        for each in _offered(group, name)
    )


def _offered(group: str, name: str) -> list[EntryPoint]:
    return sorted(entry_points(group=group, name=name), key=_origin)


def _origin(point: EntryPoint) -> str:
    """The distribution and object of an offer, for a message."""
    distribution = point.dist.name if point.dist is not None else "an unnamed distribution"
    return f"{distribution} ({point.value})"


def _kind(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
