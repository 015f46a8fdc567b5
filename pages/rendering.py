"""How pages are made: templates that escape what they are given, and how numbers are written."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
from markupsafe import Markup

from ..projections.telling import signed, tell
from ..projections.visible import visible

_THIN: Final = "\N{NARROW NO-BREAK SPACE}"
_NOTHING: Final = "\N{EN DASH}"


@cache
def environment() -> jinja2.Environment:
    """Templates of this package: whatever is put into them is text, and a missing name an error.

    What cannot be seen of a text is written as an escape, as in a terminal.
    """
    made = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        finalize=_seen,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(score=score, effect=effect, share=share, count=count, tell=tell)
    made.globals["style"] = style
    return made


def _seen(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def style() -> Markup:
    """The one style sheet, to be put into a page."""
    return Markup(resources.files(__package__).joinpath("style.css").read_text("utf-8"))


def score(value: float | None) -> str:
    """A score with two decimals."""
    return _NOTHING if value is None else f"{value:.2f}"


def effect(value: float | None) -> str:
    """An effect or a difference with its sign and two decimals; none is +0.00."""
    return _NOTHING if value is None else signed(value)


def share(value: float | None) -> str:
    """A share as a percentage with one decimal."""
    return _NOTHING if value is None else f"{value * 100:.1f}{_THIN}%"


def count(value: int) -> str:
    """A count with its thousands apart."""
    return f"{value:,}".replace(",", _THIN)
