"""What a record says, and what is said of one that is unusable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.kodcode import KodCodeBenchmark
from discernmem.replayers.benchmarks.kodcode.extract import program
from discernmem.replayers.benchmarks.kodcode.records import (
    COLUMNS,
    NO_USE,
    read_problem,
    read_problems,
)
from discernmem.replayers.datasets import Row, read_rows

Write = Callable[..., Path]


def names(test: str, info: object = None) -> tuple[str, ...]:
    fields = {"question_id": "x", "question": "Q", "test": test, "test_info": info}
    return read_problem(Row(place="here", fields=fields)).names


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("from solution import one", ("one",)),
        ("from solution import one, Two", ("one", "Two")),
        ("from solution import one as first", ("one",)),
        ("import pytest\nfrom solution import (\n    one,\n    two,\n)", ("one", "two")),
        (
            "from solution import one\n\ndef test_it():\n    from solution import two",
            ("one", "two"),
        ),
        ("import solution", ("declared",)),
        ("from solution import *", ("declared",)),
        ("x = 1", ("declared",)),
    ],
)
def test_what_has_to_be_defined_is_what_the_tests_import(
    test: str, wanted: tuple[str, ...]
) -> None:
    assert names(test, [{"function_name": "declared"}]) == wanted


@pytest.mark.parametrize(
    "info",
    [
        [{"function_name": "one"}, {"function_name": "two", "docstring": "…"}],
        '[{"function_name": "one"}, {"function_name": "two"}]',
    ],
)
def test_the_declared_names_may_be_a_list_or_its_text(info: object) -> None:
    assert names("import solution", info) == ("one", "two")


@pytest.mark.parametrize("info", [None, [], "null", "[]"])
def test_no_name_need_be_declared(info: object) -> None:
    assert names("import solution", info) == ()
    assert names("from solution import one", info) == ("one",)


@pytest.mark.parametrize(
    ("test", "defect"),
    [
        ("from solution import one", ""),
        ("from solution import *", ""),
        ("import solution", ""),
        ("import importlib\nm = importlib.import_module('solution')", ""),
        ("def test_it():\n    assert one() == 1", ""),
        ("def one():\n    return 1\n\ndef test_it():\n    assert one() == 1", NO_USE),
        ("from solutions import one", NO_USE),
        ("def test_it(:", ""),
        ("a\0b", ""),
    ],
)
def test_tests_that_anything_would_pass_are_known_beforehand(test: str, defect: str) -> None:
    fields = {"question_id": "x", "question": "Q", "test": test}
    assert read_problem(Row(place="here", fields=fields)).defect == defect


def test_an_escape_that_python_warns_of_is_no_defect() -> None:
    fields = {"question_id": "x", "question": "Q", "test": "from solution import a\nb = '\\d'"}
    assert read_problem(Row(place="here", fields=fields)).defect == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question_id": None}, "no field 'question_id'; write it"),
        ({"question": None}, "no field 'question'; write it"),
        ({"test": None}, "no field 'test'; write it"),
        ({"test": "  \n"}, "'test' holds no text where text is wanted; write a string"),
        ({"question": ["Q"]}, "'question' holds no text where text is wanted; write a string"),
        ({"question_id": 7}, "'question_id' holds no text where text is wanted; write a string"),
        ({"subset": ""}, "'subset' holds no text where text is wanted; write a string"),
        ({"test_info": "{"}, "'test_info' is not JSON .* correct the row"),
        ({"test_info": {"function_name": "a"}}, "'test_info' is no list of objects .* correct it"),
        ({"test_info": [{"name": "a"}]}, "'test_info' is no list of objects .* correct it"),
        ({"test_info": [{"function_name": "a b"}]}, "'test_info' is no list of objects .*"),
        ({"test_info": ["a"]}, "'test_info' is no list of objects .* correct it or leave it out"),
        ({"question_id": "own-1"}, "question_id 'own-1' was used in own.jsonl, line 1; give each"),
    ],
)
def test_an_unusable_record_is_named_with_its_line_and_a_remedy(
    stream: Write, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=rf"^own\.jsonl, line 2: {message}") as caught:
        KodCodeBenchmark(stream({}, change))
    assert "\n" not in str(caught.value)


def test_the_real_records_load(real_records: Path) -> None:
    problems = read_problems(read_rows(real_records, columns=COLUMNS).rows)
    assert len(problems) == 232
    assert Counter(problem.defect for problem in problems) == {"": 228, NO_USE: 4}
    assert {problem.domain for problem in problems} == {"Algorithm", "Leetcode", "Prefill"}
    assert problems[0].names == ("interleave_strings",)
    asked = {problem.id: problem.names for problem in problems}
    assert asked["Algorithm_00000008_I"] == ("Node", "LinkedList", "detect_cycle")


def test_the_real_solutions_are_found_in_a_reply(real_records: Path) -> None:
    for row in read_rows(real_records).rows:
        solution, wanted = row.fields["solution"].strip("\n") + "\n", read_problem(row).names
        told = f"This is it.\n\n```python\n{solution}```\n\nIt is used so:\n\n```python\nuse()\n```"
        assert program(told, wanted) == solution


def test_test_info_as_text_gives_the_same_real_problems(real_records: Path, tmp_path: Path) -> None:
    told = tmp_path / "text.jsonl"
    with told.open("w") as out:
        for line in real_records.read_text().splitlines():
            record = json.loads(line)
            out.write(json.dumps({**record, "test_info": json.dumps(record["test_info"])}) + "\n")
    as_text = read_problems(read_rows(told, columns=COLUMNS).rows)
    assert as_text == read_problems(read_rows(real_records, columns=COLUMNS).rows)


def test_tests_too_deep_to_be_read_leave_the_names_to_the_record() -> None:
    deep = "from solution import one\nnumber = " + "-" * 200_000 + "1\n"
    assert names(deep, [{"function_name": "two"}]) == ("two",)
