"""Several runs side by side: what was set otherwise, and what came of it against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ...projections.scores import Paired, paired
from ...replayers.headers import differing
from .figures import Figures, without_folders

ABLATED: Final = "method.without"
SWEPT: Final[Mapping[str, str]] = {
    "method.rounds": "repair rounds",
    "method.k_id": "memories compared on admission",
    "method.k_inj": "memories injected per task and role",
}
"""The settings that the paper sweeps, and what they are (Fig. 4 and 9)."""


@attrs.frozen(kw_only=True)
class Comparison:
    """Several runs.

    Attributes:
        runs: their numbers, in the order given.
        settings: what is set otherwise in any of them, by dotted names, with the value in each;
            that a file is in another folder is not told.
        paired: each run but the first against it; None where there is no common stream.
    """

    runs: tuple[Figures, ...]
    settings: Mapping[str, tuple[Any, ...]]
    paired: tuple[Paired | None, ...]

    @property
    def varied(self) -> str:
        """The one setting in which alone the runs differ, empty if there is no such."""
        return next(iter(self.settings)) if len(self.settings) == 1 else ""

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "runs": [run.plain() for run in self.runs],
            "settings": {name: list(values) for name, values in self.settings.items()},
            "against_the_first": [each.plain() if each else None for each in self.paired],
        }


def compare(runs: Sequence[Figures]) -> Comparison:
    """Put several runs side by side; the first is what the others are held against."""
    first, *others = runs
    differences = [differing(first.header, other.header) for other in others]
    names = sorted({name for each in differences for name in each})
    settings = {}
    for name in names:
        of_first = next(each[name][0] for each in differences if name in each)
        others_have = [each[name][1] if name in each else of_first for each in differences]
        values = tuple(map(without_folders, (of_first, *others_have)))
        if any(value != values[0] for value in values):
            settings[name] = values
    return Comparison(
        runs=tuple(runs),
        settings=settings,
        paired=tuple(
            paired(other.rows, first.rows)
            if other.header.stream_digest == first.header.stream_digest
            else None
            for other in others
        ),
    )
