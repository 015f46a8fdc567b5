"""The entry of a jailed process: bind itself, say so, then play its role."""

from __future__ import annotations

import json
import os
import sys

from .confine import confine
from .frames import READY, Stream


def main(text: str) -> None:
    """Play the role that the settings (JSON) name."""
    settings = json.loads(text)
    confine(settings["bounds"])
    # Errors up to here are for the supervisor to read; what foreign code prints is not.
    os.dup2(1, 2)
    # The settings say which descriptor is the channel; foreign code need not read it there.
    del sys.argv[1:]
    sys.path += settings["site"]
    stream = Stream(settings["channel"])
    stream.send(READY)
    if settings["role"] == "candidate":
        from . import candidate

        candidate.serve(stream)
    elif settings["role"] == "tests":
        from . import tests

        tests.serve(stream)
