"""Whatever a configuration holds, it is read exactly or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.cli.configuring import parse_pairs
from discernmem.eventlog.codec import canonical
from discernmem.eventlog.errors import BadInput
from discernmem.replayers.config import Config, load_config, parse_config, with_options

KEYS = st.sampled_from(
    (
        *("host", "tasks", "reuse", "benchmark", "model", "embedder", "sampling", "method"),
        *("name", "source", "context", "temperature", "top_p", "max_tokens", "epsilon", "seed"),
        *("k_inj", "", "benchmarks"),
    )
)
VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-3, 2**70),
        st.floats(),
        st.text(max_size=4),
        st.dates(),
        st.none(),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


@settings(max_examples=300, deadline=None)
@given(TABLES, st.dictionaries(st.lists(KEYS, min_size=1).map(".".join), VALUES, max_size=3))
def test_any_table_is_read_or_refused(table: dict[str, Any], options: dict[str, Any]) -> None:
    try:
        config = parse_config(with_options(table, options), "here")
    except BadInput:
        return
    canonical(config.table())
    assert parse_config(config.table(), "again") == config


def test_the_defaults_are_read_back_as_themselves() -> None:
    assert parse_config({}, "nothing") == Config()
    assert parse_config(Config().table(), "its own table") == Config()


def test_options_leave_the_table_they_go_over_as_it_was() -> None:
    table = {"method": {"epsilon": 0.5}}
    merged = with_options(table, {"method.seed": 1, "tasks": 3})
    assert table == {"method": {"epsilon": 0.5}}
    assert merged == {"method": {"epsilon": 0.5, "seed": 1}, "tasks": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ('"3"', "3"),
        ("[1, 2]", [1, 2]),
        ("models/small.gguf", "models/small.gguf"),
        ("http://host:1/v1#name", "http://host:1/v1#name"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_a_value_on_the_command_line_is_toml_or_else_text(text: str, value: Any) -> None:
    assert parse_pairs([f"key={text}"]) == {"key": value}


def test_a_whole_number_is_a_number_where_one_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[method]\nepsilon = 0\n[sampling]\ntemperature = 1\n")
    config = parse_config(load_config(file), "c.toml")
    assert (config.method.epsilon, config.sampling.temperature) == (0.0, 1.0)
    assert canonical(config.table()) == canonical(parse_config(config.table(), "again").table())
