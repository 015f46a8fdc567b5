"""A KodCode record: what is asked, and the pytest module that judges the answer."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ....eventlog.errors import BadInput
from ....sandbox.reading import read_tests
from ...datasets import Row

COLUMNS = ("question_id", "subset", "question", "test", "test_info")
"""The fields that are read; the record's own solution is not among them."""

NO_USE = "the tests never use the solution"


@attrs.frozen(kw_only=True)
class Problem:
    """One record.

    ``names`` are what the solution has to define: what the tests import of it, or, where they name
    nothing, the functions of ``test_info``. ``defect`` says why the tests must not judge, because
    any solution would pass them; whatever else is wrong with them the sandbox finds out.
    """

    id: str
    domain: str
    question: str
    test: str
    names: tuple[str, ...]
    defect: str = ""


def read_problems(rows: Iterable[Row]) -> tuple[Problem, ...]:
    """The problems in the rows, in order.

    Raises:
        BadInput: a row is no record, or an id occurs twice; the message names the place.
    """
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for row in rows:
        problem = read_problem(row)
        if problem.id in seen:
            raise BadInput(
                f"{row.place}: question_id {problem.id!r} was used in {seen[problem.id]}; "
                "give each record its own"
            )
        seen[problem.id] = row.place
        problems.append(problem)
    return tuple(problems)


def read_problem(row: Row) -> Problem:
    """The problem in one row.

    Raises:
        BadInput: a field is absent or holds something else.
    """
    test = row.text("test")
    declared = _declared(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # How a test is written is not our concern.
        try:
            tree = ast.parse(test)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
    imported = _imported(tree) if tree is not None else ()
    return Problem(
        id=row.text("question_id"),
        domain=row.text("subset") if row.fields.get("subset") is not None else "kodcode",
        question=row.text("question").strip(),
        test=test,
        names=imported or declared,
        defect="" if tree is None or imported or _reaches(tree, test) else NO_USE,
    )


def _declared(row: Row) -> tuple[str, ...]:
    """The functions of ``test_info``, which is a list, the same as JSON text, or nothing."""
    info = row.parsed("test_info")
    if info is None:
        return ()
    if not isinstance(info, list) or not all(_names_function(entry) for entry in info):
        raise BadInput(
            f"{row.place}: 'test_info' is no list of objects with a 'function_name'; correct it "
            "or leave it out"
        )
    return tuple(dict.fromkeys(entry["function_name"] for entry in info))


def _names_function(entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    name: Any = entry.get("function_name")
    return isinstance(name, str) and name.isidentifier()


def _imported(tree: ast.Module) -> tuple[str, ...]:
    names = (
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "solution"
        for alias in node.names
        if alias.name != "*"
    )
    return tuple(dict.fromkeys(names))


def _reaches(tree: ast.Module, test: str) -> bool:
    """Whether the tests get at the solution in another way than by importing names of it."""
    # Names they leave undefined are taken from the solution: some are written to follow it.
    if read_tests(test).text != test:
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "solution":
            return True
        if isinstance(node, ast.Import) and any(alias.name == "solution" for alias in node.names):
            return True
        if isinstance(node, ast.Constant) and node.value == "solution":
            return True
    return False
