"""A chart as a report shows it."""

from __future__ import annotations

import attrs
from markupsafe import Markup


@attrs.frozen(kw_only=True)
class Chart:
    """A chart with its title, the figure of the paper it is, if any, and what it says.

    Without a picture ``says`` is why there is none.
    """

    title: str
    figure: str = ""
    picture: Markup | None = None
    says: str
