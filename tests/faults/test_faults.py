"""The crash and fault campaign in its short form: nothing is lost, and all is survived."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from faults.registry import FAULTS
from faults.stage import Calm, Fault, undisturbed


@pytest.fixture(scope="module")
def calm() -> Iterator[dict[bool, Calm]]:
    """The undisturbed runs, with reuse and without."""
    with ExitStack() as stack:
        yield {reuse: stack.enter_context(undisturbed(reuse=reuse)) for reuse in (True, False)}


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.short], ids=lambda fault: fault.name)
def test_the_log_survives(fault: Fault, calm: dict[bool, Calm]) -> None:
    for trial in fault.try_all(calm[fault.reuse], full=False):
        assert not trial.why
        assert trial.lost == 0
        assert trial.told
