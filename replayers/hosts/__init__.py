"""Teams: what a host is to this project, and how one is found by its name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from ...eventlog.codec import canonical
from ...eventlog.errors import BadInput, DiscernmemError
from ..benchmarks.base import Benchmark
from ..plugins import HOSTS, made, plugin, plugin_names
from .base import Host
from .files import parse_host


def open_host(spec: str) -> Host:
    """A team.

    Args:
        spec: the name of a host that ships with the package or that a plugin offers, the path of a
            TOML file, or ``FILE.py:NAME`` or ``module:NAME`` for an object of one's own that is a
            host or makes one when it is called.

    Raises:
        BadInput: no such host, or what was found is not a usable team.
    """
    if spec in shipped_hosts():
        text = (resources.files(__package__) / f"{spec}.toml").read_text("utf-8")
        return parse_host(tomllib.loads(text), spec)
    if spec.endswith(".toml"):
        return _team(Path(spec))
    if ":" in spec:
        return _made(_object(spec), spec)
    offered = plugin(HOSTS, spec)
    if offered is None:
        known = ", ".join((*shipped_hosts(), *plugin_names(HOSTS)))
        raise BadInput(
            f"host {spec!r} is unknown; use one of {known}, a TOML file, or FILE.py:NAME"
        )
    return _made(offered, spec)


def require_facts(host: Host, benchmark: Benchmark) -> None:
    """Refuse a host that cannot play a benchmark, or whose facts cannot be recorded and read.

    Raises:
        BadInput: it is such a host.
    """
    facts = host.facts(benchmark)
    try:
        canonical(facts)
        owners = tuple(role for role, _ in facts["roles"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"host {host.name}: its facts are not usable ({type(error).__name__}: {error}); "
            "give plain JSON with name and roles, each role with those it hears"
        ) from None
    if not owners or owners != tuple(host.roles):
        raise BadInput(
            f"host {host.name}: its roles are {', '.join(host.roles) or 'none'}, its facts say "
            f"{', '.join(owners) or 'none'}; give at least one, and the same in both"
        )


def shipped_hosts() -> tuple[str, ...]:
    """The names of the hosts that ship with the package."""
    entries = resources.files(__package__).iterdir()
    return tuple(sorted(entry.name[:-5] for entry in entries if entry.name.endswith(".toml")))


def _team(path: Path) -> Host:
    table = _table(path)
    if "gateway" not in table:
        return parse_host(table, str(path))
    from ..serving.files import parse_gateway

    return parse_gateway(table, path.parent, str(path))


def _table(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"host {path}: {error.strerror}; name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"host {path}: is not TOML: {error}") from None


def _object(spec: str) -> object:
    """The object a Python file or module holds under a name."""
    place, _, name = spec.rpartition(":")
    try:
        module = _file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        found: object = getattr(module, name)
    except DiscernmemError:
        raise
    except (Exception, SystemExit) as error:  # whatever a module does while it is imported
        raise BadInput(
            f"host {spec}: cannot be imported ({type(error).__name__}: {error}); "
            "name a Python file or module and what it calls its host, FILE.py:NAME"
        ) from None
    return found


def _file(path: Path) -> ModuleType:
    name = f"discernmem_host_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # a class of its own is looked up there, when a library inspects it
    found.loader.exec_module(module)
    return module


def _made(found: object, spec: str) -> Host:
    ready = hasattr(found, "play") and not isinstance(found, type)
    host = made(f"host {spec}", found) if callable(found) and not ready else found
    if not all(hasattr(host, each) for each in ("name", "roles", "facts", "play")):
        raise BadInput(
            f"host {spec}: {type(host).__name__} is no host; it needs name, roles, facts and play"
        )
    return host  # type: ignore[return-value]
