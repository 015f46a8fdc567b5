"""The command line: parse, call, print. A command imports the heavy modules it needs itself."""

from . import asking, branching, indexing, recording, trusting, trying
from .app import cli, main

__all__ = ["asking", "branching", "cli", "indexing", "main", "recording", "trusting", "trying"]
