"""The command line: parse, call, print. A command imports the heavy modules it needs itself."""

from . import asking, branching, indexing, recording, sweeping, trusting, trying
from .app import cli, main

__all__ = [
    "asking",
    "branching",
    "cli",
    "indexing",
    "main",
    "recording",
    "sweeping",
    "trusting",
    "trying",
]
