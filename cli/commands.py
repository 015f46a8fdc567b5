"""All commands; each module adds its own, and imports what is heavy only when one is called."""

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
