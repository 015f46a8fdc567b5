"""The recorded example: what ships is whole."""

from pathlib import Path

import pytest

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.demo import open_recorded


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_recorded(tmp_path_factory.mktemp("example"))


def test_the_example_holds_what_a_reader_wants_to_see(example: Path) -> None:
    with EventLog.open(example) as log:
        events = [recorded.event for recorded in log.read()]
    of = {kind: [e for e in events if isinstance(e, kind)] for kind in {type(e) for e in events}}
    assert len(of[ev.TaskCompleted]) >= 20
    assert of[ev.RepairStarted]
    assert "SCOPE" in {use.label for use in of[ev.UseAttributed]}
    assert {"positive", "negative"} <= {effect.sign for effect in of[ev.EffectMeasured]}
    (started,) = of[ev.RunStarted]
    assert started.model["sha256"]
    assert started.config["model"]["license"]


def test_opening_the_example_again_keeps_what_is_there(example: Path) -> None:
    before = example.stat().st_mtime_ns
    assert open_recorded(example.parent) == example
    assert example.stat().st_mtime_ns == before
