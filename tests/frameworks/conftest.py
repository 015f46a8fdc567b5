"""What the script of each framework saw, run once."""

from __future__ import annotations

from typing import Any

import pytest
from teams import seen


@pytest.fixture(scope="session")
def autogen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return seen("autogen", tmp_path_factory.mktemp("autogen"))


@pytest.fixture(scope="session")
def camel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return seen("camel", tmp_path_factory.mktemp("camel"))
