"""Retrieval by similarity, and the texts it compares (method, section 3; Eq. 13)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from discernmem.decisions.retrieval import (
    cosine,
    cosines,
    eligible,
    inject,
    observed,
    query_for_calibration,
    query_for_related,
    receivers,
    retrieve,
    text_of,
)
from discernmem.eventlog import events as ev
from discernmem.projections.store import Memory, MemoryStore


def memory(number: int) -> Memory:
    return Memory(
        id=f"m{number}",
        owner="assistant",
        state="provisional",
        version=1,
        body="look first",
        use_when=(),
        avoid_when=(),
        source_task="t1",
        source_execution="x",
        admitted_at=1,
        capabilities=(),
        versions=(),
    )


def found(
    similarities: dict[str, float], *, theta: float = 0.25, k: int = 3
) -> list[tuple[str, float]]:
    memories = [memory(int(name[1:])) for name in similarities]
    return [
        (each.memory, each.similarity)
        for each in retrieve(similarities, memories, theta=theta, k=k)
    ]


def unit(values: Sequence[float]) -> bytes:
    vector = np.asarray(values, dtype=np.float64)
    return bytes((vector / np.linalg.norm(vector)).astype("<f4").tobytes())


def test_the_nearest_come_first_and_no_more_than_k() -> None:
    near = {"m1": 0.3, "m2": 0.9, "m3": 0.5, "m4": 0.7}
    assert found(near) == [("m2", 0.9), ("m4", 0.7), ("m3", 0.5)]


def test_the_threshold_itself_is_near_enough_after_rounding() -> None:
    assert found({"m1": 0.25, "m2": 0.2499996, "m3": 0.2499994}) == [("m1", 0.25), ("m2", 0.25)]


def test_equal_similarities_are_ordered_by_memory_number_not_by_name() -> None:
    near = {"m10": 0.5000001, "m9": 0.4999999, "m2": 0.4}
    assert found(near) == [("m9", 0.5), ("m10", 0.5), ("m2", 0.4)]


def test_nothing_is_found_among_nothing() -> None:
    assert found({}) == []


@given(st.dictionaries(st.integers(1, 50), st.integers(-10, 10).map(lambda n: n / 10)), st.data())
def test_the_order_of_the_store_does_not_matter(
    near: dict[int, float], data: st.DataObject
) -> None:
    named = {f"m{number}": value for number, value in near.items()}
    shuffled = {name: named[name] for name in data.draw(st.permutations(sorted(named)))}
    assert found(named) == found(shuffled)


def test_the_selected_are_injected_in_similarity_order_within_the_bound() -> None:
    candidates = [ev.Candidate(memory=name, similarity=0.5) for name in ("m4", "m1", "m7")]
    assert inject(candidates, ["m7", "m1", "m4"], 2) == ("m4", "m1")
    assert inject(candidates, ["m7"], 2) == ("m7",)
    assert inject(candidates, ["m99"], 2) == ()
    assert inject(candidates, ["m4"], 0) == ()


def test_a_memory_is_found_by_its_body_and_use_conditions() -> None:
    assert text_of("Look first.", ("a box is shut", "a drawer is shut")) == (
        "Look first.\na box is shut\na drawer is shut"
    )
    assert text_of("Look first.", ()) == "Look first."


def test_related_tasks_are_searched_by_body_scope_capabilities_and_defect() -> None:
    earned = ev.Capability(id="m1.c1", correction="take the key", tasks=("t3",))
    query = query_for_related("Look.", ("shut",), ("open",), (earned,), "comes too late")
    assert query == "Look.\nshut\nopen\ntake the key\ncomes too late"


def test_calibration_tasks_are_searched_by_body_use_conditions_and_source_task() -> None:
    assert query_for_calibration("Look.", ("shut",), "Find the lamp.") == (
        "Look.\nshut\nFind the lamp."
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param([1, 0], [1, 0], 1.0, id="same direction"),
        pytest.param([1, 0], [0, 1], 0.0, id="right angle"),
        pytest.param([1, 0], [-1, 0], -1.0, id="opposite"),
        pytest.param([1, 0], [3, 4], 0.6, id="three fifths"),
        pytest.param([1, 0], [1, 1], 0.707107, id="six decimals"),
    ],
)
def test_the_cosine_is_that_of_the_angle_to_six_decimals(
    a: list[float], b: list[float], expected: float
) -> None:
    assert cosine(unit(a), unit(b)) == expected


def test_vectors_of_different_dimension_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 dimensions"):
        cosine(unit([1, 0]), unit([1, 0, 0]))
    with pytest.raises(ValueError, match="the query's 2 dimensions"):
        cosines(unit([1, 0]), [unit([1, 0]), unit([1, 0, 0])])


def test_no_vectors_have_no_cosines() -> None:
    assert cosines(unit([1, 0]), []) == []


def test_many_cosines_are_the_single_ones_to_the_bit() -> None:
    rng = np.random.default_rng(3)
    query, *vectors = (unit(row) for row in rng.normal(size=(400, 64)).tolist())
    assert cosines(query, vectors) == [cosine(query, vector) for vector in vectors]


def test_next_to_a_tie_of_the_last_decimal_many_and_single_still_agree() -> None:
    query = np.asarray([1, 2**-24], dtype="<f4").tobytes()
    ties = [sign * (n + 0.5) / 1e6 for n in range(100) for sign in (1, -1)]
    vectors = []
    for tie in ties:
        coarse = np.float32(tie)
        fine = np.float32((tie - float(coarse)) * 2**24)
        vectors.append(np.asarray([coarse, fine], dtype="<f4").tobytes())
    assert cosines(query, vectors) == [cosine(query, vector) for vector in vectors]


@pytest.mark.parametrize("small", [-1e-8, -0.4999999e-6])
def test_no_similarity_is_a_negative_zero(small: float) -> None:
    query, other = (np.asarray([value], dtype="<f4").tobytes() for value in (1.0, small))
    assert repr(cosine(query, other)) == "0.0"
    assert repr(cosines(query, [other])) == "[0.0]"


def test_a_role_is_offered_its_own_memories_or_without_meta_memory_those_of_all() -> None:
    memories = [
        memory(3),
        attrs.evolve(memory(10), owner="user_proxy"),
        attrs.evolve(memory(2), owner="user_proxy", state="active"),
        attrs.evolve(memory(1), state="inactive"),
    ]
    store = MemoryStore(Map({each.id: each for each in memories}))
    assert [each.id for each in eligible(store, "assistant", owned=True)] == ["m3"]
    assert [each.id for each in eligible(store, "user_proxy", owned=True)] == ["m2", "m10"]
    assert [each.id for each in eligible(store, "assistant", owned=False)] == ["m2", "m3", "m10"]


def test_what_one_role_saw_is_its_context_and_what_several_saw_is_all_of_theirs() -> None:
    assert observed(["a task"]) == "a task"
    assert observed(["a task", "a task and a hint"]) == "a task\n\na task and a hint"
    assert (receivers(["critic"]), receivers(["actor", "critic"])) == ("critic", "actor and critic")
