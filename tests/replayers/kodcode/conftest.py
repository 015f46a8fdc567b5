"""What the KodCode tests share: a stream of own records, and where the real ones lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from beside import shared_data

Write = Callable[..., Path]

RECORD: Mapping[str, Any] = {
    "question_id": "own-1",
    "subset": "numbers",
    "question": "Write a function `double(number)`.",
    "solution": "def double(number):\n    return 2 * number\n",
    "test": "from solution import double\n\n\ndef test_double():\n    assert double(4) == 8\n",
    "test_info": [{"function_name": "double"}],
}


@pytest.fixture
def stream(tmp_path: Path) -> Write:
    """Writes a stream of records, each a change of one that is right; None removes a field."""

    def write(*changes: Mapping[str, Any]) -> Path:
        path = tmp_path / "own.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for number, change in enumerate(changes or ({},), start=1):
                record = {**RECORD, "question_id": f"own-{number}", **change}
                kept = {name: value for name, value in record.items() if value is not None}
                out.write(json.dumps(kept) + "\n")
        return path

    return write


@pytest.fixture(scope="session")
def real_records() -> Path:
    return shared_data("kodcode_demo.jsonl")
