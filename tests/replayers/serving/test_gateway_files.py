"""A host by gateway from its TOML file: what it must say, and what makes it another host."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.serving.files import parse_gateway
from discernmem.replayers.serving.host import GatewayHost


def host(text: str, folder: Path) -> GatewayHost:
    return parse_gateway(tomllib.loads(f'name = "mine"\n[gateway]\n{text}'), folder, "team.toml")


def test_a_host_says_all_that_decides_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "team.py").write_text("print('hello')")
    (tmp_path / "prompts.json").write_text("{}")
    made = host(
        """
roles = ["planner", "writer"]
others = ["selector"]
command = ["sh", "-c", "team.py", "--fast"]
files = ["prompts.json"]
timeout = 5
""",
        tmp_path,
    )
    facts = made.facts(open_benchmark("reading", {}))
    assert facts == {
        "kind": "gateway",
        "name": "mine",
        "roles": [["planner", []], ["writer", []]],
        "order": "free",
        "others": ["selector"],
        "command": ["sh", "-c", "team.py", "--fast"],
        "files": made.files,
    }
    assert list(made.files) == ["prompts.json", "team.py"]
    assert made.timeout == 5
    (tmp_path / "team.py").write_text("print('changed')")
    assert host('roles = ["planner"]\ncommand = ["sh", "team.py"]', tmp_path).files != made.files


def test_a_program_of_ones_own_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    program = tmp_path / "team"
    program.write_text("#!/bin/sh\n")
    os.chmod(program, 0o755)
    assert host('roles = ["a"]\ncommand = ["./team"]', tmp_path).command == ("./team",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "roles is None; give a list of texts"),
        ("roles = []", "roles is empty; name those that own memories"),
        ('roles = "a"', "roles is 'a'; give a list of texts"),
        ('roles = ["a", "a"]', "names role 'a' twice"),
        ('roles = ["a\\nb"]', "role is 'a\\nb'; give a name on one line"),
        ('roles = ["a"]\nothers = ["a"]', "names role 'a' twice"),
        ('roles = ["a"]\nport = 4', "unknown key 'port'; known: command, files"),
        ('roles = ["a"]\ncommand = ["no-such-program"]', "no program 'no-such-program'"),
        ('roles = ["a"]\ncommand = ["./no-such"]', "no program './no-such'"),
        ('roles = ["a"]\nfiles = ["no.txt"]', "files: no.txt: No such file or directory"),
        ('roles = ["a"]\ntimeout = 0', "timeout is 0; give a number of seconds above 0"),
        ('roles = ["a"]\ntimeout = inf', "timeout is inf"),
        ('roles = ["a"]\n[[roles2]]', "unknown key 'roles2'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        host(text, tmp_path)
    assert str(caught.value).startswith("host team.toml")
    assert words in str(caught.value)


def test_a_host_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name is None; give a text"):
        parse_gateway({"gateway": {"roles": ["a"]}}, tmp_path, "team.toml")
    with pytest.raises(BadInput, match=r"\[gateway\] must be a table"):
        parse_gateway({"name": "mine", "gateway": 4}, tmp_path, "team.toml")
    with pytest.raises(BadInput, match="unknown key 'roles'"):
        parse_gateway({"name": "mine", "gateway": {}, "roles": []}, tmp_path, "team.toml")
