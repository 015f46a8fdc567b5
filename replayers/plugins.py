"""Hosts, benchmarks, models and embedders of other distributions, found by their entry points.

A distribution offers one with a line such as ``guess = "package:GuessBenchmark"`` under
``[project.entry-points."discernmem.benchmarks"]``. Nothing of a plugin is imported before it is
asked for by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from ..eventlog.errors import BadInput, DiscernmemError

Made = TypeVar("Made")

HOSTS = "discernmem.hosts"
"""Group of callables without arguments that return a host."""

BENCHMARKS = "discernmem.benchmarks"
"""Group of callables that take the options of ``[benchmark]`` and return a benchmark."""

MODELS = "discernmem.models"
"""Group of callables that take what follows the name in ``NAME:REST`` and return a model."""

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
