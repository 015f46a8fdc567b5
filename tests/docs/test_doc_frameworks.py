"""The programs of the documentation that need a framework run where that is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from doc_pages import DOCS, blocks
from doc_stage import answer
from endpoint import Endpoint
from teams import python_of

PAGE = DOCS / "how-to" / "bring-your-own-team.md"


@pytest.mark.parametrize(
    ("framework", "module"), [("autogen", "autogen_agentchat"), ("camel", "camel")]
)
def test_a_team_of_a_framework_is_recorded_as_its_page_says(
    tmp_path: Path, framework: str, module: str
) -> None:
    (block,) = [each for each in blocks(PAGE) if each.options.get("needs") == module]
    program = tmp_path / block.options["file"]
    program.write_text(block.text, "utf-8")
    with Endpoint(answer) as server:
        host, model = f"{program.name}:team", f"{server.url}#m"
        command = ["-m", "discernmem.cli", "run", "run.db", "--host", host, "--model", model]
        done = subprocess.run(
            [python_of(framework), *command, "--set", "benchmark.source=demo", "--tasks", "1"],
            cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if key != "DISCERNMEM_LOG"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "mean score" in done.stdout
