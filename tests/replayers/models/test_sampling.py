from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.models.llama.sampling import Sampler

LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3], dtype=np.float32))


def draws(temperature: float, top_p: float, seed: int, count: int = 4000) -> list[int]:
    sampler = Sampler(temperature=temperature, top_p=top_p, seed=seed)
    return [sampler.pick(LOGITS) for _ in range(count)]


def test_temperature_zero_takes_the_largest_and_the_first_of_equals() -> None:
    sampler = Sampler(temperature=0.0, top_p=0.5, seed=1)
    assert sampler.pick(LOGITS) == 1
    assert sampler.pick(np.zeros(5, dtype=np.float32)) == 0


def test_frequencies_follow_the_probabilities() -> None:
    counts = np.bincount(draws(1.0, 1.0, 7), minlength=4) / 4000
    assert counts == pytest.approx([0.1, 0.4, 0.2, 0.3], abs=0.03)


def test_temperature_sharpens() -> None:
    counts = np.bincount(draws(0.5, 1.0, 7), minlength=4) / 4000
    squares = np.array([0.01, 0.16, 0.04, 0.09])
    assert counts == pytest.approx(squares / squares.sum(), abs=0.03)


def test_top_p_keeps_the_smallest_set_with_that_mass() -> None:
    assert set(draws(1.0, 0.39, 7)) == {1}
    assert set(draws(1.0, 0.65, 7)) == {1, 3}
    assert set(draws(1.0, 0.85, 7)) == {1, 2, 3}


def test_a_seed_repeats_its_draws_and_another_differs() -> None:
    assert draws(1.0, 0.95, 3, 50) == draws(1.0, 0.95, 3, 50)
    assert draws(1.0, 0.95, 3, 50) != draws(1.0, 0.95, 4, 50)


@given(
    st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=40),
    st.floats(0, 3),
    st.floats(0.0, 1.0),
    st.integers(0, 2**40),
    st.data(),
)
def test_a_forbidden_token_is_never_drawn(
    values: list[float], temperature: float, top_p: float, seed: int, data: st.DataObject
) -> None:
    logits = np.array(values, dtype=np.float32)
    allowed = data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))
    for index in range(len(values)):
        if index not in allowed:
            logits[index] = -np.inf
    assert Sampler(temperature=temperature, top_p=top_p, seed=seed).pick(logits) in allowed
