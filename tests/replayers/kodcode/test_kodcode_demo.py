"""The shipped problems: every own solution passes, and what is wrong about one is noticed."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from discernmem.replayers.benchmarks.kodcode import KodCodeBenchmark
from discernmem.sandbox import Grade, Limits, grade

SHIPPED = resources.files("discernmem.data") / "kodcode" / "demo.jsonl"
RECORDS: dict[str, dict[str, Any]] = {
    record["question_id"]: record
    for record in map(json.loads, SHIPPED.read_text(encoding="utf-8").splitlines())
}
WRONG: list[dict[str, str]] = tomllib.loads(
    (Path(__file__).with_name("wrong.toml")).read_text(encoding="utf-8")
)["wrong"]
LIMITS = Limits(cpu_seconds=2)


@pytest.fixture(scope="module")
def grades() -> dict[tuple[str, str], Grade]:
    """Every shipped solution, and every wrong one, judged; two at a time."""
    jobs = [(id_, "right", record["solution"]) for id_, record in RECORDS.items()]
    jobs += [(wrong["id"], wrong["why"], wrong["code"]) for wrong in WRONG]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda job: grade(job[2], RECORDS[job[0]]["test"], limits=LIMITS), jobs)
    return {(id_, why): each for (id_, why, _), each in zip(jobs, found, strict=True)}


@pytest.mark.parametrize("id_", RECORDS)
def test_the_own_solution_passes(grades: dict[tuple[str, str], Grade], id_: str) -> None:
    found = grades[id_, "right"]
    assert (found.verdict, found.failed, found.errors) == ("pass", 0, 0), found.reason
    assert found.passed == found.collected


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong['id']} {wrong['why']}")
def test_a_wrong_solution_fails(
    grades: dict[tuple[str, str], Grade], wrong: dict[str, str]
) -> None:
    found = grades[wrong["id"], wrong["why"]]
    assert found.verdict == "fail", found.reason


def test_every_problem_has_a_wrong_solution_to_tell_apart() -> None:
    assert {wrong["id"] for wrong in WRONG} == set(RECORDS)


def test_the_set_is_as_wide_as_it_says() -> None:
    difficulties = Counter(record["difficulty"] for record in RECORDS.values())
    assert len(RECORDS) == 40
    assert set(difficulties) == {"trivial", "easy", "medium"}
    assert min(difficulties.values()) >= 6
    assert len({record["subset"] for record in RECORDS.values()}) >= 8
    tests = "\n".join(record["test"] for record in RECORDS.values())
    for kind in ("class Test", "parametrize", "pytest.fixture", "pytest.raises", "capsys"):
        assert tests.count(kind) >= 3, kind


def test_a_task_names_what_its_record_declares() -> None:
    for task in KodCodeBenchmark().tasks():
        declared = [each["function_name"] for each in RECORDS[task.id]["test_info"]]
        assert task.data["names"] == declared
        assert task.data["defect"] == ""
        assert all(f"`{name}" in RECORDS[task.id]["question"] for name in declared)


def test_no_question_gives_its_solution_away() -> None:
    for id_, record in RECORDS.items():
        lines = [line.strip() for line in record["solution"].splitlines()]
        told = [line for line in lines if len(line) > 12 and line in record["question"]]
        assert not told, (id_, told)
