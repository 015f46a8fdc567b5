"""MacNet's topologies: which node hears which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.hosts.shapes import SHAPES, Edges, turned

TABLE = [
    ("chain", 4, ((0, 1), (1, 2), (2, 3))),
    ("star", 4, ((0, 1), (0, 2), (0, 3))),
    ("tree", 6, ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5))),
    ("mesh", 4, ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))),
    ("layered", 4, ((0, 2), (0, 3), (1, 2), (1, 3))),
    # Seven nodes make two layers of three; the one left over goes into the first.
    ("layered", 7, tuple((low, high) for low in range(4) for high in range(4, 7))),
    ("chain", 1, ()),
    ("layered", 1, ()),
    ("random", 1, ()),
    ("random", 2, ((0, 1),)),
]


@pytest.mark.parametrize(("kind", "nodes", "edges"), TABLE)
def test_a_shape_has_the_edges_of_macnet(kind: str, nodes: int, edges: Edges) -> None:
    assert SHAPES[kind](nodes, 0) == edges


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 40), st.integers(0, 99), st.booleans())
def test_every_edge_leads_upwards_between_nodes_that_are_there(
    kind: str, nodes: int, seed: int, reverse: bool
) -> None:
    edges = SHAPES[kind](nodes, seed)
    if reverse:
        edges = turned(edges, nodes)
    assert all(0 <= low < high < nodes for low, high in edges)
    assert len(set(edges)) == len(edges)


@given(st.integers(2, 40), st.integers(0, 99))
def test_a_random_shape_is_the_same_for_the_same_seed_and_within_its_bounds(
    nodes: int, seed: int
) -> None:
    edges = SHAPES["random"](nodes, seed)
    assert edges == SHAPES["random"](nodes, seed)
    assert nodes - 1 <= len(edges) <= nodes * (nodes - 1) // 2


@given(st.integers(1, 200))
def test_layers_are_as_many_as_the_binary_logarithm_of_the_nodes(nodes: int) -> None:
    edges = SHAPES["layered"](nodes, 0)
    depth = dict.fromkeys(range(nodes), 0)
    for low, high in sorted(edges):
        depth[high] = max(depth[high], depth[low] + 1)
    assert max(depth.values()) + 1 == max(1, nodes.bit_length() - 1)


def test_turning_a_star_makes_one_node_hear_all() -> None:
    assert turned(SHAPES["star"](4, 0), 4) == ((0, 3), (1, 3), (2, 3))
