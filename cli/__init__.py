"""The command line: parse, call, print. A command imports the heavy modules it needs itself."""

from . import asking, branching, recording, trusting, trying
from .app import cli, main

__all__ = ["asking", "branching", "cli", "main", "recording", "trusting", "trying"]
