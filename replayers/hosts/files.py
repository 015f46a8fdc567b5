"""A team from its TOML table: its roles one by one, or a shape with a number of nodes.

Roles::

    name = "pair"
    [[roles]]
    name = "coder"
    [[roles]]
    name = "reviewer"
    hears = ["coder"]
    [instructions.default]
    coder = "…"
    reviewer = "…"

A shape is filled with roles ``node_1`` to ``node_n``, which play ``node``; a ``summarizer`` hears
those that nobody else hears, and speaks last::

    name = "layers"
    [shape]
    kind = "layered"      # chain, star, tree, mesh, layered, random
    nodes = 6
    [instructions.default]
    node = "…"
    summarizer = "…"
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import attrs

from ...eventlog.errors import BadInput
from .graph import GraphHost, Role
from .shapes import SHAPES, turned
from .values import known, one_line, text, texts

_ROLE = frozenset({"name", "hears", "plays", "search", "actor"})
_SHAPE = frozenset({"kind", "nodes", "seed", "reverse", "search", "actor"})
_HOST = frozenset({"name", "roles", "shape", "instructions"})
_LAST = "summarizer"


def parse_host(table: Mapping[str, Any], source: str) -> GraphHost:
    """A host from its table, its roles put in a calling order that respects who hears whom.

    Raises:
        BadInput: an unknown key or role, a cycle, no single last role, a last role that searches,
            or a role without instructions.
    """
    place = f"host {source}"
    known(table, _HOST, place)
    if ("roles" in table) == ("shape" in table):
        raise BadInput(f"{place}: needs either [[roles]] or a [shape]; give one of them")
    roles = _roles(table["roles"], place) if "roles" in table else _shaped(table["shape"], place)
    generations = _generations(roles, place)
    (last,) = generations[-1]
    if last.search:
        raise BadInput(f"{place}: {last.name} speaks last and may not search; take its search away")
    return GraphHost(
        name=one_line(table.get("name"), f"{place}: name"),
        generations=generations,
        instructions=_instructions(table.get("instructions"), roles, place),
    )


def _roles(entries: Any, place: str) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else (), start=1):
        where = f"{place}: role {number}"
        known(entry, _ROLE, where)
        role = Role(
            name=one_line(entry.get("name"), f"{where}: name"),
            hears=tuple(texts(entry.get("hears", []), f"{where}: hears")),
            plays=text(entry.get("plays", entry["name"]), f"{where}: plays"),
            search=_search(entry.get("search", ""), where),
            actor=_switch(entry.get("actor", False), f"{where}: actor"),
        )
        if role.name in roles:
            raise BadInput(f"{where}: {role.name!r} is another role's name; give it its own")
        roles[role.name] = role
    if not roles:
        raise BadInput(f"{place}: has no role; add [[roles]]")
    for role in roles.values():
        for other in role.hears:
            if role.hears.count(other) > 1:
                raise BadInput(
                    f"{place}: role {role.name!r} hears {other!r} twice; name each role once"
                )
            if other not in roles:
                raise BadInput(
                    f"{place}: role {role.name!r} hears {other!r}, which is no role; "
                    f"roles: {', '.join(roles)}"
                )
    return roles


def _shaped(shape: Any, place: str) -> dict[str, Role]:
    where = f"{place}: [shape]"
    known(shape, _SHAPE, where)
    kind, nodes, seed = shape.get("kind"), shape.get("nodes"), shape.get("seed", 0)
    if not isinstance(kind, str) or kind not in SHAPES:
        raise BadInput(f"{where} kind {kind!r} is unknown; use {', '.join(SHAPES)}")
    for name, value, low in (("nodes", nodes, 1), ("seed", seed, 0)):
        if type(value) is not int or value < low:
            raise BadInput(f"{where} {name} is {value!r}; give a whole number of at least {low}")
    edges = SHAPES[kind](nodes, seed)
    if _switch(shape.get("reverse", False), f"{where} reverse"):
        edges = turned(edges, nodes)
    hears: dict[int, list[int]] = {number: [] for number in range(nodes)}
    for low, high in edges:
        hears[high].append(low)
    heard = {low for low, _ in edges}
    node = Role(
        name="",
        plays="node",
        search=_search(shape.get("search", ""), where),
        actor=_switch(shape.get("actor", False), f"{where} actor"),
    )
    roles = [
        attrs.evolve(
            node,
            name=f"node_{number + 1}",
            hears=tuple(f"node_{low + 1}" for low in hears[number]),
        )
        for number in range(nodes)
    ]
    sinks = tuple(role.name for number, role in enumerate(roles) if number not in heard)
    roles.append(Role(name=_LAST, hears=sinks, plays=_LAST))
    return {role.name: role for role in roles}


def _generations(roles: Mapping[str, Role], place: str) -> tuple[tuple[Role, ...], ...]:
    """The roles by depth, within one depth in the order of the file."""
    sorter = TopologicalSorter({role.name: role.hears for role in roles.values()})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise BadInput(
            f"{place}: roles hear each other in a circle ({circle}); leave one edge out"
        ) from None
    order = list(roles)
    found = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=order.index)
        found.append(tuple(roles[name] for name in ready))
        sorter.done(*ready)
    heard = {other for role in roles.values() for other in role.hears}
    unheard = [name for name in order if name not in heard]
    if len(unheard) != 1:
        raise BadInput(
            f"{place}: one role must speak last, heard by none; these are: {', '.join(unheard)}; "
            "let one more role hear them"
        )
    return tuple(found)


def _instructions(tables: Any, roles: Mapping[str, Role], place: str) -> dict[str, dict[str, str]]:
    if not isinstance(tables, Mapping) or not tables:
        raise BadInput(f"{place}: has no instructions; add [instructions.default]")
    for protocol, told in tables.items():
        where = f"{place}: [instructions.{protocol}]"
        if not isinstance(told, Mapping):
            raise BadInput(f"{where} must be a table of texts")
        for key, said in told.items():
            text(said, f"{where} {key}")
            if not any(key in (role.name, role.plays) for role in roles.values()):
                raise BadInput(f"{where} {key!r} is no role of it")
        for role in roles.values():
            if role.name not in told and role.plays not in told:
                raise BadInput(f"{where} says nothing to {role.name!r}; add it")
    return {protocol: dict(told) for protocol, told in tables.items()}


# -- values ------------------------------------------------------------------------------------


def _search(value: Any, place: str) -> Any:
    if value not in ("", "asks", "once"):
        raise BadInput(f'{place}: search is {value!r}; use "asks" or "once", or leave it out')
    return value


def _switch(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{place} is {value!r}; give true or false")
    return value
