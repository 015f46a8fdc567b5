"""An execution is told with how its score came about, as far as that is not the usual."""

from collections.abc import Mapping

import pytest

from discernmem.eventlog import events as ev
from discernmem.projections.telling import tell

USUAL = {"oracle": "outside", "isolation": "bubblewrap+seccomp+rlimits"}


@pytest.mark.parametrize(
    ("grading", "said"),
    [
        ({}, "team ran on k1 with no memory: 0.00"),
        (USUAL, "team ran on k1 with no memory: 0.00"),
        ({**USUAL, "reason": "CPU limit"}, "team ran on k1 with no memory: 0.00 (CPU limit)"),
        (
            {"reason": "SyntaxError", "oracle": "inside", "isolation": "none"},
            "team ran on k1 with no memory: 0.00 "
            "(SyntaxError, judged inside its jail, without isolation)",
        ),
    ],
)
def test_what_was_unusual_about_a_score_is_told(grading: Mapping[str, str], said: str) -> None:
    event = ev.ExecutionFinished(
        request="r",
        task="k1",
        supplied=(),
        score=0.0,
        metrics={},
        grading=dict(grading),
        trajectory=ev.BlobRef("t"),
        contexts=ev.BlobRef("c"),
        environment_steps=1,
        model_calls=2,
    )
    assert tell(event) == said


def test_a_search_is_told_with_its_query() -> None:
    found = ev.PassagesFound(request="r", query="the gate", k=3, passages=ev.BlobRef("p"))
    assert tell(found) == "searched for “the gate”"
