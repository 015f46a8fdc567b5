"""Every rule that changes a state, in the words of the report, with the default settings."""

from __future__ import annotations

from typing import get_args

import attrs

from discernmem.decisions.settings import Settings
from discernmem.eventlog import events as ev
from discernmem.projections.meanings import bar, meaning

from .words import table


def rules() -> str:
    """The page."""
    method = attrs.asdict(Settings())
    transitions = [(name, meaning(name, method)) for name in get_args(ev.LifecycleRule)]
    repairs = [(kind, bar(kind, method)) for kind in get_args(ev.RepairKind)]
    return "\n\n".join(
        [
            "# Rules",
            "The rules that change the state of a memory (Eq. 14, A.1), and what a candidate of a "
            "repair must pass (Eq. 9, 10, 16). Numbers are the defaults of "
            "[`[method]`](configuration.md#method); the functions and tests are in "
            "[the method](../explanation/method.md#equation-function-test).",
            "## Transitions",
            table(("rule", "a memory is changed by it when"), transitions),
            "## Candidates of a repair",
            table(("repair", "what it takes"), repairs),
        ]
    )
