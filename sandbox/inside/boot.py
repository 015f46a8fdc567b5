"""The entry of a jailed process: bind itself, say so, then play its role."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from .confine import confine
from .frames import READY, Stream


def main(text: str) -> None:
    """Play the role that the settings (JSON) name."""
    settings = json.loads(text)
    confine(settings["bounds"])
    # The settings say which descriptor is the channel; foreign code need not read it there.
    del sys.argv[1:]
    sys.path += settings["site"]
    serve = _role(settings["role"])
    # Errors up to here are for the supervisor to read; what foreign code prints is not.
    os.dup2(1, 2)
    stream = Stream(settings["channel"])
    stream.send(READY)
    serve(stream)


def _role(name: str) -> Callable[[Stream], None]:
    if name == "candidate":
        from . import candidate

        return candidate.serve
    if name == "tests":
        from . import tests

        return tests.serve
    return lambda _: None
