"""Values cross a wire as what they are, and nothing on it can be more than a value."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.sandbox.inside.shared import Shared
from discernmem.sandbox.inside.wire import (
    Decoder,
    Encoder,
    Malformed,
    Unmarshallable,
    refuse,
    unknown,
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers().map(lambda number: number << 200)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
)
HASHABLE = st.recursive(
    SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)
TAGS = st.sampled_from(
    [
        *("list", "dict", "set", "deque", "Counter", "tuple", "frozenset", "int", "bytes"),
        *("complex", "range", "Decimal", "Fraction", "date", "datetime", "timedelta", "type"),
        *("NotImplemented", "object", "class", "shared", "os.system"),
    ]
)
TABLES = st.lists(
    st.tuples(TAGS, st.lists(st.lists(st.integers(-1, 5), min_size=1, max_size=1) | JSON)).map(list)
    | st.tuples(TAGS, JSON, JSON).map(list)
    | JSON,
    max_size=6,
)


def crossed(value: Any) -> Any:
    encoder = Encoder(refuse)
    slot = encoder.add(value)
    table = json.loads(json.dumps(encoder.table))
    return Decoder(table, unknown).value(json.loads(json.dumps(slot)))


def shape(value: Any) -> Any:
    """Types all the way down, where equality would take 1 for True."""
    if isinstance(value, dict):
        return dict, sorted(repr((shape(key), shape(part))) for key, part in value.items())
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(repr(shape(part)) for part in value)
    if isinstance(value, (list, tuple)):
        return type(value), [shape(part) for part in value]
    return type(value), repr(value)


@given(VALUES)
def test_a_value_crosses_unchanged(value: Any) -> None:
    found = crossed(value)
    assert found == value
    assert shape(found) == shape(value)


def test_depth_sharing_and_cycles_cross() -> None:
    deep: Any = ()
    for _ in range(50_000):
        deep = (deep,)
    depth, found = 0, crossed(deep)
    while found:
        depth, found = depth + 1, found[0]
    assert depth == 50_000
    inner = [1]
    one, other = crossed([inner, inner])
    assert one is other
    items: list[Any] = [1]
    items.append(({"me": items},))
    found = crossed(items)
    assert found[1][0]["me"] is found


@pytest.mark.parametrize("value", [len, lambda: 0, object(), type("T", (), {}), iter([]), json])
def test_what_is_no_plain_value_does_not_cross(value: Any) -> None:
    with pytest.raises(Unmarshallable):
        crossed([value])


@pytest.mark.parametrize("base", [int, str, list, dict, tuple, set])
def test_a_subclass_of_a_plain_type_is_not_taken_for_it(base: type) -> None:
    with pytest.raises(Unmarshallable):
        crossed(type("Own", (base,), {})())


@given(TABLES, JSON)
def test_any_other_table_is_malformed_or_a_plain_value(table: Any, slot: Any) -> None:
    try:
        value = Decoder(table, unknown).value(slot)
    except Malformed:
        return
    assert type(value).__module__ in (
        *("builtins", "collections", "decimal", "fractions", "datetime"),
    )


def test_shared_containers_are_compared_by_identity_alone() -> None:
    class Everything:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    shared = Shared()
    items: list[Any] = [1, 2]
    shared.put(1, items)
    assert shared.changed() == []
    items[0] = Everything()
    assert [number for number, _ in shared.changed()] == [1]
    assert shared.changed() == []
    shared.change(1, [3])
    assert items == [3]
    assert shared.changed() == []
