"""The vector index narrows a search down without deciding it."""

from __future__ import annotations

import numpy as np
import pytest

from discernmem.projections.index import VectorIndex

NEAR, FAR = (np.eye(8, dtype="<f4")[axis].tobytes() for axis in (0, 1))


@pytest.mark.parametrize("order", [range(1, 41), range(40, 0, -1)], ids=["rising", "falling"])
def test_all_as_near_as_the_last_are_found_in_whatever_order_they_were_put(order: range) -> None:
    index = VectorIndex()
    for key in order:
        index.put(key, FAR if key > 30 else NEAR)
    assert set(index.nearest(NEAR, 3, range(1, 41))) == set(range(1, 31))


def test_a_vector_put_again_counts_as_it_is_now() -> None:
    index = VectorIndex()
    for key in range(1, 41):
        index.put(key, NEAR)
    index.put(1, FAR)
    assert set(index.nearest(NEAR, 2, range(1, 41))) == set(range(2, 41))


def test_only_the_keys_asked_among_are_found() -> None:
    index = VectorIndex()
    for key in (1, 2, 3):
        index.put(key, NEAR)
    assert sorted(index.nearest(NEAR, 1, {2, 3})) == [2, 3]
    assert index.nearest(NEAR, 1, set()) == {}
