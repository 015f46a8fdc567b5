"""Rows are read from files of four formats; what cannot be read is named with its place."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.datasets import read_rows

RECORDS = [
    {"id": 1, "text": "first\u2028line", "names": ["a", "b"]},
    {"id": 2, "text": "second", "names": []},
]
LINES = "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS).encode()


def parquet(path: Path, records: list[dict[str, object]] = RECORDS) -> Path:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path)
    return path


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def fields(source: Path | str, **options: object) -> list[object]:
    return [dict(row.fields) for row in read_rows(source, **options).rows]  # type: ignore[arg-type]


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    assert fields(written(tmp_path / "a.jsonl", LINES)) == RECORDS
    assert fields(written(tmp_path / "a.jsonl.gz", gzip.compress(LINES))) == RECORDS
    assert fields(parquet(tmp_path / "a.parquet")) == RECORDS


def test_cells_of_a_tab_separated_file_are_texts(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", b'id\ttext\n1\tplain\n2\t"with ""quotes""\nand a break"\n')
    assert fields(path) == [
        {"id": "1", "text": "plain"},
        {"id": "2", "text": 'with "quotes"\nand a break'},
    ]
    assert [row.place for row in read_rows(path).rows] == ["a.tsv, line 2", "a.tsv, line 4"]


def test_a_row_says_where_it_stands(tmp_path: Path) -> None:
    lines = written(tmp_path / "a.jsonl", b'{"id": 1}\n\n{"id": 2}\n')
    assert [row.place for row in read_rows(lines).rows] == ["a.jsonl, line 1", "a.jsonl, line 3"]
    rows = read_rows(parquet(tmp_path / "a.parquet")).rows
    assert [row.place for row in rows] == ["a.parquet, row 1", "a.parquet, row 2"]


def test_only_the_columns_asked_for_are_kept_and_an_absent_one_is_no_error(tmp_path: Path) -> None:
    want = [{"id": 1}, {"id": 2}]
    tabs = written(tmp_path / "a.tsv", b"id\ttext\n1\tx\n")
    assert fields(written(tmp_path / "a.jsonl", LINES), columns=("id", "other")) == want
    assert fields(parquet(tmp_path / "a.parquet"), columns=("id", "other")) == want
    assert fields(tabs, columns=("id", "other")) == [{"id": "1"}]


def test_the_facts_name_the_file_without_its_folder_and_its_uncompressed_content(
    tmp_path: Path,
) -> None:
    plain = read_rows(written(tmp_path / "a.jsonl", LINES)).facts
    assert plain == {
        "source": "a.jsonl",
        "revision": None,
        "data_digest": hashlib.sha256(LINES).hexdigest(),
    }
    packed = read_rows(written(tmp_path / "a.jsonl.gz", gzip.compress(LINES))).facts
    assert packed["data_digest"] == plain["data_digest"]


def test_a_folder_is_read_by_split_and_its_parts_in_order(tmp_path: Path) -> None:
    for name in ("train-00001-of-00002", "train-00000-of-00002", "test-00000-of-00001"):
        written(tmp_path / "data" / f"{name}.jsonl", json.dumps({"from": name}).encode())
    assert fields(tmp_path) == [
        {"from": "train-00000-of-00002"},
        {"from": "train-00001-of-00002"},
    ]
    assert fields(tmp_path, split="test") == [{"from": "test-00000-of-00001"}]


def test_a_split_may_be_a_folder_or_one_plain_file(tmp_path: Path) -> None:
    for part in ("0001", "0000"):
        written(tmp_path / "default" / "test" / f"{part}.jsonl", json.dumps(part).encode())
        written(tmp_path / "default" / "partial-test" / f"{part}.jsonl", b"{}")
    with pytest.raises(BadInput, match=r"0000\.jsonl, line 1: not a JSON object"):
        read_rows(tmp_path, split="test")
    written(tmp_path / "validation.jsonl", LINES)
    assert fields(tmp_path, split="validation") == RECORDS


def test_of_several_formats_the_typed_one_is_taken(tmp_path: Path) -> None:
    written(tmp_path / "train.tsv", b"id\n7\n")
    written(tmp_path / "train.jsonl", b'{"id": 7}')
    assert fields(tmp_path) == [{"id": 7}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"id": 1}\n{"id": }\n', r"a\.jsonl, line 2: not JSON .*one object a line"),
        ("a.jsonl", b"[1]\n", r"a\.jsonl, line 1: not a JSON object; write one object a line"),
        ("a.jsonl", b"\n \n", r"data set 'a\.jsonl': no rows in it"),
        ("a.jsonl.gz", LINES, r"not gzip .*fetch it again"),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0)[:-9], r"not gzip .*fetch it again"),
        ("a.parquet", b"PAR1 not really PAR1", r"a\.parquet: not Parquet .*fetch it again"),
        ("a.tsv", b"a\tb\n1\n", r"a\.tsv, line 2: not as many cells.*correct the row"),
        ("a.tsv", b"a\tb\n1\t2\t3\n", r"a\.tsv, line 2: not as many cells.*correct the row"),
        ("a.tsv", b'a\tb\n1\t"2\n', r"a\.tsv, line \d: .*correct the row"),
        ("a.tsv", b"a\n\xff\n", r"a\.tsv: not UTF-8 .*convert it"),
        ("a.csv", b"a\n1\n", r"give a file that ends in \.parquet, \.jsonl"),
    ],
)
def test_what_cannot_be_read_is_named_with_place_and_remedy(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read_rows(written(tmp_path / name, content))
    assert "\n" not in str(caught.value)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.jsonl': No such file.*name a file that is there"):
        read_rows(tmp_path / "none.jsonl")
    with pytest.raises(BadInput, match="not a usable path"):
        read_rows("nul\0.jsonl")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["test.jsonl", "train.csv"], r"no file of split 'train' .*give the path of the file"),
        (["a/train.jsonl", "b/train.jsonl"], r"split 'train' lies in a, b; name one"),
        (["train-00000-of-00002.jsonl"], r"1 files of split 'train' .* promise more; fetch the"),
    ],
)
def test_a_folder_without_one_whole_split_says_what_is_wrong(
    tmp_path: Path, names: list[str], message: str
) -> None:
    for name in names:
        written(tmp_path / name, LINES)
    with pytest.raises(BadInput, match=message):
        read_rows(tmp_path)


def test_a_missing_parquet_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(Infrastructure, match=r"pip install 'discernmem\[data\]'"):
        read_rows(path)
