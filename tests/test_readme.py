"""What the README says is held by a test is held by a test that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CITED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", README)))


@pytest.mark.parametrize("cited", CITED)
def test_every_test_the_readme_names_is_there(cited: str) -> None:
    file, _, name = cited.partition("::")
    source = (ROOT / file).read_text("utf-8")
    assert f"def {name or 'test_'}" in source


def test_every_promise_names_a_test() -> None:
    page = README.split("## What the log promises")[1].split("\n## ")[0]
    promises = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(promises) > 15
    assert all("`tests/" in line for line in promises[1:])
