"""The command line: parse, call, print. A command imports the heavy modules it needs itself."""

from . import asking, recording, trusting, trying
from .app import cli, main

__all__ = ["asking", "cli", "main", "recording", "trusting", "trying"]
