"""The command line: parse, call, print."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whoever interrupts it before it is there gets one line as well."""
    try:
        from . import commands
    except KeyboardInterrupt:
        sys.stderr.write("discernmem: interrupted; nothing was changed, run it again\n")
        sys.exit(130)
    commands.main(arguments)
