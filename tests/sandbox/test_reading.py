"""Where tests can run is read from their text alone."""

import pytest

from discernmem.sandbox.reading import UNUSED, foreign_modules, read_tests

OUTSIDE = "from solution import f\ndef test_f():\n    assert f(1) == 1\n"


def test_ordinary_tests_run_outside_and_are_not_touched() -> None:
    reading = read_tests(OUTSIDE)
    assert (reading.text, reading.inside, reading.trouble) == (OUTSIDE, "", "")


@pytest.mark.parametrize(
    ("line", "reached"),
    [
        ("import os", "os"),
        ("import os.path", "os.path"),
        ("from unittest import mock", "unittest.mock"),
        ("from unittest.mock import patch", "unittest.mock"),
        ("from random import seed", "random.seed"),
        ("import random; random.seed(1)", "random.seed"),
        ("import sys; sys.stdin = None", "sys.stdin"),
        ("def test_g(monkeypatch): pass", "monkeypatch"),
        ("def test_g(tmp_path): pass", "tmp_path"),
        ("open('x')", "open"),
        ("f.__code__", "__code__"),
        ("async def g(): pass", "coroutines"),
    ],
)
def test_what_reaches_into_the_process_runs_inside(line: str, reached: str) -> None:
    assert read_tests(OUTSIDE + line + "\n").inside == f"the tests use {reached}"


@pytest.mark.parametrize(
    "line",
    ["import random; random.randint(1, 2)", "import sys; sys.maxsize", "import unittest", "f.name"],
)
def test_what_stays_in_the_tests_runs_outside(line: str) -> None:
    assert read_tests(OUTSIDE + line + "\n").inside == ""


def test_undefined_names_are_taken_from_the_solution() -> None:
    text = (
        "from __future__ import annotations\ndef test_f():\n    g = len\n    assert f(g) == h.x\n"
    )
    first, second, *rest = read_tests(text).text.split("\n")
    assert first == "from __future__ import annotations"
    assert "['f', 'h']" in second
    assert "\n".join([first, *rest]) == text


def test_tests_with_a_copy_of_the_solution_cannot_judge_it() -> None:
    copied = "def f() -> List[int]: return []\ndef test_f():\n    assert f() == []\n"
    assert read_tests(copied).trouble == UNUSED


def test_tests_that_never_name_the_solution_cannot_judge() -> None:
    assert read_tests("def f(): pass\ndef test_f():\n    assert f() is None\n").trouble == UNUSED


@pytest.mark.parametrize("text", ["def f(:\n", "x = 1\0", "(" * 5000])
def test_tests_that_do_not_parse_are_named_by_kind(text: str) -> None:
    assert read_tests(text).trouble.endswith("in the tests")


def test_modules_beyond_the_standard_library_are_found() -> None:
    source = (
        "import numpy.linalg, os\ndef f():\n    from scipy import special\n    from . import x\n"
    )
    assert foreign_modules(source) == ["numpy", "scipy"]
    assert foreign_modules("def :") == []
