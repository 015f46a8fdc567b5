"""Real files for tests, which lie beside the project and never in it."""

from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """A file or folder of the shared data; a checkout without them skips what needs it."""
    path = Path(__file__).resolve().parents[2].parent / "shared" / "data" / name
    if not path.exists():
        pytest.skip("../shared/data is absent")
    return path
