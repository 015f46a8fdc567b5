"""The command line: parse, call, print. A command imports the heavy modules it needs itself."""

from . import (
    asking,
    branching,
    checking,
    gateway,
    indexing,
    recording,
    reporting,
    serving,
    sweeping,
    trusting,
    trying,
)
from .app import cli, main

__all__ = [
    "asking",
    "branching",
    "checking",
    "cli",
    "gateway",
    "indexing",
    "main",
    "recording",
    "reporting",
    "serving",
    "sweeping",
    "trusting",
    "trying",
]
