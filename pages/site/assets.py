"""Style and script of the site, and the policy that lets a browser use nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Final

from markupsafe import Markup

from ..rendering import style

_OWN: Final = (
    "default-src 'none'; style-src 'sha256-{styles}'; script-src 'sha256-{script}'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
DATASETTE_POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""For the pages that Datasette makes: theirs carry scripts of its own, but nothing from outside."""


@cache
def styles() -> Markup:
    """All style of a page of the site."""
    return style() + _read("site.css")


@cache
def script() -> Markup:
    """The one script: it only spares pressing a button."""
    return _read("comfort.js")


@cache
def policy() -> str:
    """What a page of ours may load: its own style and script, named by their hashes."""
    return _OWN.format(styles=_sha256(styles()), script=_sha256(script()))


def _read(name: str) -> Markup:
    folder = resources.files(f"{__package__.rpartition('.')[0]}") / "templates" / "site"
    return Markup(folder.joinpath(name).read_text("utf-8"))


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
