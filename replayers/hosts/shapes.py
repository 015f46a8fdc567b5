"""The graphs of MacNet's topologies, as pure functions from a number of nodes to edges.

An edge leads from the node that speaks to the node that hears it; nodes are numbered from 0 and
every edge leads upwards, so each shape is acyclic.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from random import Random

Edges = tuple[tuple[int, int], ...]


def chain(nodes: int) -> Edges:
    """Each node hears the one before it."""
    return tuple((node, node + 1) for node in range(nodes - 1))


def star(nodes: int) -> Edges:
    """Every other node hears the first."""
    return tuple((0, node) for node in range(1, nodes))


def tree(nodes: int) -> Edges:
    """A binary tree: node i is heard by 2i + 1 and 2i + 2."""
    return tuple(((node - 1) // 2, node) for node in range(1, nodes))


def mesh(nodes: int) -> Edges:
    """Each node hears all before it."""
    return tuple(combinations(range(nodes), 2))


def layered(nodes: int) -> Edges:
    """As many layers as the binary logarithm of the nodes, rounded down; full between neighbours.

    The nodes are spread evenly; what is left over goes into the first layer.
    """
    count = max(1, nodes.bit_length() - 1)
    size = nodes // count
    first = nodes - size * (count - 1)
    starts = [0, *(first + size * layer for layer in range(count))]
    layers = [range(low, high) for low, high in pairwise(starts)]
    return tuple(
        (low, high) for lower, upper in pairwise(layers) for low in lower for high in upper
    )


def random(nodes: int, seed: int) -> Edges:
    """Between n - 1 and n(n - 1)/2 edges drawn from all upward pairs; need not be connected."""
    pairs = mesh(nodes)
    if nodes < 2:
        return pairs
    draw = Random(seed)
    return tuple(sorted(draw.sample(pairs, draw.randint(nodes - 1, len(pairs)))))


SHAPES: dict[str, Callable[[int, int], Edges]] = {
    "chain": lambda nodes, _: chain(nodes),
    "star": lambda nodes, _: star(nodes),
    "tree": lambda nodes, _: tree(nodes),
    "mesh": lambda nodes, _: mesh(nodes),
    "layered": lambda nodes, _: layered(nodes),
    "random": random,
}
"""The shapes by name: number of nodes and seed to edges; only ``random`` reads the seed."""


def turned(edges: Edges, nodes: int) -> Edges:
    """The shape with every edge the other way round, its nodes renumbered to lead upwards."""
    return tuple(sorted((nodes - 1 - high, nodes - 1 - low) for low, high in edges))
