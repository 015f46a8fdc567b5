from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.models.llama.prefixes import PrefixStore, common_length

TOKENS = st.lists(st.integers(0, 2), max_size=8)


def put(store: PrefixStore, tokens: list[int], size: int = 10) -> None:
    store.put(tokens, size, lambda: bytes(size))


def test_the_longest_shared_prefix_is_found() -> None:
    store = PrefixStore(100)
    put(store, [1, 2, 3, 4])
    put(store, [1, 9])
    assert store.longest([1, 2, 3, 7])[0] == (1, 2, 3, 4)
    assert store.longest([1, 9, 9])[0] == (1, 9)
    assert store.longest([5]) == ((), b"")


def test_a_prefix_of_a_kept_prompt_is_dropped() -> None:
    store = PrefixStore(100)
    put(store, [1, 2])
    put(store, [1, 2, 3])
    assert store.size == 10


def test_the_least_recently_used_is_dropped_at_the_limit() -> None:
    store = PrefixStore(25)
    put(store, [1])
    put(store, [2])
    assert store.longest([1])[0] == (1,)
    put(store, [3])
    assert store.size == 20
    assert store.longest([2])[0] == ()
    assert store.longest([1])[0] == (1,)


def test_a_state_that_cannot_fit_is_not_even_made() -> None:
    store = PrefixStore(25)
    put(store, [1])
    store.put([2], 26, lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert store.longest([1])[0] == (1,)


@given(TOKENS, TOKENS)
def test_common_length_is_the_largest_agreeing_start(left: list[int], right: list[int]) -> None:
    length = common_length(left, right)
    assert left[:length] == right[:length]
    assert left[: length + 1] != right[: length + 1] or length == min(len(left), len(right))
