"""What is fixed about a framework's team: its roles, who builds it, and by what it is known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from ..eventlog.codec import digest
from ..eventlog.errors import BadInput
from ..replayers.benchmarks.base import Benchmark


@attrs.frozen(kw_only=True)
class Plan:
    """A team before anyone sits down.

    Attributes:
        name: the host's name.
        roles: the roles that own memories.
        hidden: roles that own none: a group chat's selector, an orchestrator.
        searching: the roles that may look things up where the benchmark offers it.
        facts: what the run header says of the team, as plain JSON.
    """

    name: str
    roles: tuple[str, ...]
    hidden: tuple[str, ...]
    searching: tuple[str, ...]
    facts: dict[str, Any]


Builder = TypeVar("Builder", bound=Callable[..., Any])


class TeamHost(Generic[Builder]):
    """A team of a framework, built anew for every pass, so that no pass knows of another.

    Args:
        name: the host's name.
        roles: the roles that own memories.
        build: takes the seats and returns what plays one pass.
        hidden: roles that own none and whose calls are recorded all the same, as a selector's.
        searching: the roles that may look things up, by ``<search>query</search>``, where the
            benchmark offers it.

    Raises:
        BadInput: roles that are no names, or a builder that is in no file.
    """

    framework: ClassVar[str]
    """The distribution that runs the team."""

    def __init__(
        self,
        name: str,
        roles: Sequence[str],
        build: Builder,
        *,
        hidden: Sequence[str] = (),
        searching: Sequence[str] = (),
    ) -> None:
        self._build = build
        self._plan = plan_of(
            name, roles, build, framework=self.framework, hidden=hidden, searching=searching
        )

    @property
    def name(self) -> str:
        """The host's name."""
        return self._plan.name

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that own memories."""
        return self._plan.roles

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:  # noqa: ARG002
        """The roles, the framework's version, and the builder with the digest of its file."""
        return dict(self._plan.facts)


def plan_of(
    name: str,
    roles: Sequence[str],
    build: Callable[..., Any],
    *,
    framework: str,
    hidden: Sequence[str],
    searching: Sequence[str],
) -> Plan:
    """The plan of a team that ``build`` builds; the code it stands in is part of its facts.

    Args:
        name: the host's name.
        roles: the roles that own memories, in the order they are named anywhere.
        build: a function or class of a file.
        framework: the distribution that runs the team.
        hidden: as in `Plan`.
        searching: as in `Plan`.

    Raises:
        BadInput: roles that are no names or named twice, or a builder that is in no file.
    """
    for given in (roles, hidden, searching):
        if isinstance(given, str) or not all(isinstance(each, str) and each for each in given):
            raise BadInput(f"host {name}: {given!r} are no roles; give a list of names")
    everyone = (*roles, *hidden)
    if not roles or len(set(everyone)) < len(everyone):
        raise BadInput(f"host {name}: needs at least one role, and each name only once")
    for role in searching:
        if role not in roles:
            raise BadInput(f"host {name}: {role!r} may search but is not among its roles; add it")
    facts: dict[str, Any] = {
        "name": name,
        # Who hears whom, and who speaks, is for the team to say while it plays.
        "roles": [[role, []] for role in roles],
        "order": "free",
        "framework": f"{framework} {metadata.version(framework)}",
        **_builder(name, build),
    }
    if hidden:
        facts["hidden"] = list(hidden)
    if searching:
        facts["searching"] = list(searching)
    return Plan(
        name=name,
        roles=tuple(roles),
        hidden=tuple(hidden),
        searching=tuple(searching),
        facts=facts,
    )


def _builder(name: str, build: Callable[..., Any]) -> dict[str, str]:
    try:
        source = inspect.getsourcefile(build)
        code = Path(source or "").read_bytes()
    except (TypeError, OSError):
        raise BadInput(
            f"host {name}: the code of its builder is in no file, so no run could say what was "
            "played; define a function in a .py file"
        ) from None
    return {"builder": build.__qualname__, "source": digest(code)}
