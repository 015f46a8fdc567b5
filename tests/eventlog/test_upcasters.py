from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import import_
from discernmem.eventlog.upcasters import UPCASTERS, check, upcast, upcaster
from discernmem.eventlog.verify import verify

GOLDEN = Path(__file__).parents[1] / "data" / "log-v1.jsonl"
PAYLOADS = ["510c1d3d", "b6185918"]
"""Start of the SHA-256 of the two version 1 payloads as they were written."""


def step(payload: dict[str, object]) -> dict[str, object]:
    return payload


def three() -> dict[str, type[ev.Event]]:
    return {"Fact": type("Fact", (ev.Event,), {"SCHEMA_VERSION": 3})}


def test_a_complete_chain_of_upcasters_is_taken() -> None:
    check(three(), {("Fact", 1): step, ("Fact", 2): step})


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ({("Fact", 2): step}, "no upcaster for Fact from version 1"),
        ({("Fact", 1): step}, "no upcaster for Fact from version 2"),
        (
            {("Fact", 1): step, ("Fact", 2): step, ("Fact", 3): step},
            "upcaster for Fact from version 3, which leads nowhere",
        ),
        (
            {("Fact", 1): step, ("Fact", 2): step, ("Other", 1): step},
            "upcaster for Other from version 1, which leads nowhere",
        ),
    ],
)
def test_a_gap_or_a_step_too_far_is_refused(steps: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check(three(), steps)  # type: ignore[arg-type]


def test_two_upcasters_for_one_step_are_refused() -> None:
    with pytest.raises(ValueError, match="two upcasters for ModelReplied version 1"):
        upcaster("ModelReplied", 1)(step)


def test_upcasting_leaves_its_input_alone() -> None:
    for (name, version), _ in UPCASTERS.items():
        payload = {"text": "x"}
        upcast(name, version, payload)
        assert payload == {"text": "x"}


def test_a_log_of_version_1_is_read_verified_and_exported_with_its_bytes_unchanged(
    tmp_path: Path,
) -> None:
    golden = GOLDEN.read_bytes()
    path = tmp_path / "old.db"
    with GOLDEN.open("rb") as source:
        head = import_(source, path).head
    assert head.hash == "0621e176ba6a7c508cc1d6ae4cede679315b693e892e3ccaa59b8fc4a408ad02"
    with EventLog.open(path) as log:
        assert verify(log, head=head).problems == ()
        old = [r for r in log.read() if r.type == "ModelReplied"]
        assert [r.schema_version for r in old] == [1, 1]
        assert [hashlib.sha256(r.payload).hexdigest()[:8] for r in old] == PAYLOADS
        for recorded in old:
            assert b"text_blob" not in recorded.payload
            event = recorded.event
            assert isinstance(event, ev.ModelReplied)
            assert (event.text_blob, event.finish, event.top_p) == (None, "stop", 0.95)
        with (tmp_path / "again.jsonl").open("wb") as out:
            export(log, out)
    assert (tmp_path / "again.jsonl").read_bytes() == golden
