"""A manifest names the rows a run plays: the same everywhere, and prefix-stable."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.datasets import (
    Row,
    Rows,
    make_manifest,
    read_manifest,
    sequential,
    shared,
    stratified,
    write_manifest,
)

SHARES = st.floats(min_value=0.001, max_value=1)
SEEDS = st.integers(min_value=0, max_value=2**40)


def rows(count: int, digest: str = "d" * 64) -> Rows:
    held = tuple(Row(place=f"a.jsonl, line {at}", fields={"at": at}) for at in range(count))
    return Rows(rows=held, source="a.jsonl", revision=None, digest=digest)


@given(st.integers(1, 400), SHARES, SHARES, SEEDS)
def test_a_smaller_share_is_the_beginning_of_a_larger_one(
    size: int, one: float, other: float, seed: int
) -> None:
    small, large = (shared(size, share, seed)[1] for share in sorted((one, other)))
    assert large[: len(small)] == small
    assert len(set(large)) == len(large)
    assert set(large) <= set(range(size))
    assert len(large) == max(1, round(size * max(one, other)))


@given(st.integers(2, 60), SEEDS, st.data())
def test_a_share_starts_where_it_is_told(size: int, seed: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 1))
    assert sorted(shared(size, 1, seed, start=start)[1]) == list(range(start, size))


def test_another_seed_draws_other_rows() -> None:
    first, second = (shared(10_000, 0.2, seed)[1] for seed in (0, 1))
    assert len(first) == len(second) == 2000
    assert 250 < len(set(first) & set(second)) < 550


def test_a_draw_is_the_same_on_every_machine() -> None:
    """Neither Python's hash seed nor its random module has a part in it."""
    assert shared(10_000, 0.2, 0)[1][:5] == (4149, 7317, 2663, 9247, 8297)
    assert stratified(["a", "b", "b"] * 4, 7, column="kind")[1] == (
        7,
        3,
        8,
        10,
        6,
        1,
        4,
        9,
        2,
        5,
        0,
        11,
    )
    script = (
        "from discernmem.replayers.datasets import shared, stratified\n"
        "print(shared(50, 1, 3)[1], stratified(['a', 'b', 'b'] * 9, 3, column='kind')[1])"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


@given(st.lists(st.sampled_from("aaabbc"), min_size=1, max_size=200), SEEDS)
def test_every_beginning_of_a_stratified_order_is_mixed_as_the_whole(
    strata: list[str], seed: int
) -> None:
    order = stratified(strata, seed, column="kind")[1]
    assert sorted(order) == list(range(len(strata)))
    whole, seen = Counter(strata), Counter[str]()
    for taken, index in enumerate(order, start=1):
        seen[strata[index]] += 1
        for stratum, count in whole.items():
            part = count / len(strata)
            assert abs(seen[stratum] - taken * part) <= 1 + len(whole) * part


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=50), SEEDS)
def test_rows_before_the_start_take_no_part(strata: list[str], seed: int) -> None:
    order = stratified(strata, seed, column="kind", start=1)[1]
    other = "a" if strata[0] == "b" else "b"
    assert order == stratified([other, *strata[1:]], seed, column="kind", start=1)[1]
    assert sorted(order) == list(range(1, len(strata)))


def test_a_sequential_order_runs_from_its_start_to_the_end() -> None:
    said, order = sequential(7993, start=1000)
    assert said == {"rule": "sequential", "start": 1000}
    assert (order[0], order[-1], len(order)) == (1000, 7992, 6993)


@pytest.mark.parametrize("share", [0, -0.2, 1.01, float("nan"), "0.2", True])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="above 0 and at most 1"):
        shared(10, share, 0)


def test_a_start_behind_the_end_is_refused() -> None:
    for order in (
        lambda: sequential(5, start=5),
        lambda: shared(5, 0.5, 0, start=9),
        lambda: stratified(["a"], 0, column="kind", start=-1),
    ):
        with pytest.raises(BadInput, match="the stream starts at row"):
            order()


def test_a_manifest_gives_its_rows_in_its_order() -> None:
    manifest = make_manifest(rows(50), shared(50, 0.1, 4))
    assert [row.fields["at"] for row in manifest.rows(rows(50))] == list(manifest.indices)
    assert manifest.facts == {
        "source": "a.jsonl",
        "revision": None,
        "data_digest": "d" * 64,
        "order": {"rule": "share", "share": 0.1, "seed": 4, "start": 0},
        "items": 5,
        "digest": manifest.digest,
    }


def test_a_manifest_refuses_another_state_of_the_data() -> None:
    manifest = make_manifest(rows(50), sequential(50))
    with pytest.raises(BadInput, match=r"not the one the manifest was made of .*name that rev"):
        manifest.rows(rows(50, "e" * 64))


@pytest.mark.parametrize("indices", [(), (-1,), ("1",), (1.0,), (True,)])
def test_a_manifest_that_was_written_by_hand_names_rows(
    indices: tuple[object, ...], tmp_path: Path
) -> None:
    """Its digest is right, so only the indices tell."""
    path = tmp_path / "manifest.json"
    write_manifest(make_manifest(rows(5), ({}, indices)), path)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="list at least one index from 0 on"):
        read_manifest(path)


def test_a_row_behind_the_end_of_the_data_is_refused() -> None:
    with pytest.raises(BadInput, match=r"names row 5, data set 'a\.jsonl' ends at 4"):
        make_manifest(rows(5), ({}, (0, 5))).rows(rows(5))


def test_the_digest_tells_apart_what_is_played() -> None:
    one = make_manifest(rows(50), shared(50, 0.5, 1))
    assert one.digest != make_manifest(rows(50), shared(50, 0.5, 2)).digest
    assert one.digest != make_manifest(rows(50, "e" * 64), shared(50, 0.5, 1)).digest


def test_a_manifest_is_kept_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    manifest = make_manifest(rows(50), stratified(["x", "y"] * 25, 4, column="kind"))
    write_manifest(manifest, path)
    assert read_manifest(path) == manifest
    before = path.read_bytes()
    with pytest.raises(BadInput, match="File exists; give a new file"):
        write_manifest(make_manifest(rows(5), sequential(5)), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: b"{", "not JSON .*make it anew"),
        (lambda _: b"[]", "not a 'discernmem manifest 1'; make it anew"),
        (lambda plain: orjson.dumps(plain | {"indices": [1, 0]}), "altered .*make it anew"),
        (lambda plain: orjson.dumps(plain | {"data_digest": "e"}), "altered .*make it anew"),
        (lambda plain: orjson.dumps(plain | {"indices": None}), "altered .*make it anew"),
        (lambda plain: orjson.dumps({"format": plain["format"]}), "altered .*make it anew"),
    ],
)
def test_a_file_that_is_no_intact_manifest_is_refused(
    tmp_path: Path, change: object, message: str
) -> None:
    path = tmp_path / "manifest.json"
    write_manifest(make_manifest(rows(2), sequential(2)), path)
    path.write_bytes(change(orjson.loads(path.read_bytes())))  # type: ignore[operator]
    with pytest.raises(BadInput, match=message):
        read_manifest(path)
    with pytest.raises(BadInput, match="No such file"):
        read_manifest(tmp_path / "other.json")
