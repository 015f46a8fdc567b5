"""Two runs side by side: what is told of them is where they part, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from lively import TASKS, LivelyModel, lively_world, quick_folder, record, rich_seed

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.projections.comparison import Comparison, compare
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.headers import differing, header_of
from discernmem.replayers.models.base import ModelCall, Reply
from discernmem.replayers.session import start


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return record(folder, rich_seed())


def compared(a: Path, b: Path) -> Comparison:
    with EventLog.open(a) as left, EventLog.open(b) as right:
        return compare(left, right, differing(header_of(left), header_of(right)))


def conclusions(log: Path) -> int:
    """How many conclusions the completed tasks of a log hold, checkpoints apart."""
    sql = "select count(*) from events where type in ({}) and task_index is not null"
    from discernmem.eventlog.events import DERIVED

    names = [name for name in DERIVED if name != "StoreCheckpointed"]
    with EventLog.open(log) as opened:
        ((count,),) = opened.rows(sql.format(", ".join("?" * len(names))), names)
    return int(count)


def test_a_run_is_the_same_as_itself(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(run, run)
    assert found.partings == ()
    assert found.agreed == conclusions(run)
    assert found.settings == {}
    main(["compare", str(run), str(run), "--json"])
    assert json.loads(capsys.readouterr().out)["same"] is True


def test_changed_settings_are_named_as_the_first_cause_and_the_store_as_the_next(
    run: Path, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b.db"

    def open_(config: Any, *_: object) -> Any:
        return attrs.evolve(lively_world(folder, rich_seed()), config=config)

    fork(Branch(origin=run, at=3, changed={"method.epsilon": 1.0}), path, open_=open_)
    found = compared(run, path)
    assert found.settings == {"method.epsilon": (0.01, 1.0)}
    assert found.tasks == (TASKS, TASKS)
    first, *later = found.partings
    assert first.index > 3
    assert first.cause.kind == "settings"
    assert first.cause.says == "settings differ: method.epsilon 0.01 → 1.0"
    assert {parting.cause.kind for parting in later} == {"store"}
    assert all(None not in parting.first or parting.differences for parting in found.partings)
    a, b = first.first
    assert a is not None
    assert b is not None
    assert (a.type, a.payload) != (b.type, b.payload)
    told = set().union(*(parting.differences for parting in found.partings))
    assert {"labels", "states"} <= told


def test_what_is_told_of_a_task_is_what_the_log_says(run: Path, folder: Path) -> None:
    other = record(folder, rich_seed(), name="other.db", method={"k_inj": 1})
    found = compared(run, other)
    with EventLog.open(run) as log:
        rows = dict(
            log.rows("select task_index, payload ->> 'score' from events where type = 'TaskScored'")
        )
    for parting in found.partings:
        if "score" in parting.differences:
            (score,), _ = parting.differences["score"]
            assert float(score) == pytest.approx(rows[parting.index], abs=1e-3)
    supplied = [p for p in found.partings if "supplied" in p.differences]
    assert supplied
    assert supplied[0].cause.kind == "settings"


class Moody(LivelyModel):
    """The lively model, but for its k-th scope check."""

    def __init__(self, seed: int, k: int) -> None:
        super().__init__(seed)
        self.left = k

    def complete(self, call: ModelCall) -> Reply:
        reply = super().complete(call)
        if self._purpose(call.messages[0].content) == "scope check":
            self.left -= 1
            if self.left == 0:
                said = json.loads(reply.text)
                return attrs.evolve(reply, text=json.dumps(said | {"use": not said["use"]}))
        return reply


def test_another_answer_of_the_world_is_named_with_both_places(run: Path, folder: Path) -> None:
    other = folder / "moody.db"
    world = lively_world(folder, rich_seed())
    start(other, attrs.evolve(world, model=Moody(rich_seed(), 2)))
    found = compared(run, other)
    first = found.partings[0]
    assert found.settings == {}
    assert first.cause.kind == "answer"
    assert (
        "answered the same request differently: model replied for scope check" in first.cause.says
    )
    a, b = first.first
    assert a is not None
    assert b is not None
    assert a.type == b.type == "ScopeChecked"


def test_runs_of_different_length_are_compared_over_what_both_did(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = folder / "short.db"
    start(short, lively_world(folder, rich_seed()), until=5)
    found = compared(short, run)
    assert found.tasks == (5, TASKS)
    assert found.partings == ()
    main(["compare", str(short), str(run)])
    told = capsys.readouterr().out
    assert f"0 of 5 tasks differ; {found.agreed} conclusions are the same" in told
    assert f"tasks 6 to {TASKS} are only in {run}" in told


def test_a_decision_after_the_last_task_is_told_until_a_task_shows_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = tmp_path / "a.db"
    start(a, lively_world(folder, rich_seed()), until=5)
    b = Path(shutil.copy(a, tmp_path / "b.db"))
    words = ["--text", "a bell rings", "--reason", "r", "--by", "ada"]
    main(["override", "add-use", "m1", str(b), *words])
    capsys.readouterr()
    found = compared(a, b)
    assert not found.same
    assert found.partings == ()
    main(["compare", str(a), str(b)])
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("decided after task 5 in b.db: m1.v")
    assert said.endswith("told to be used when “a bell rings” by ada: “r”")
    main(["override", "add-use", "m1", str(a), *words])
    assert compared(a, b).same


@pytest.mark.parametrize("where", [0, 1])
def test_what_is_no_run_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: int
) -> None:
    EventLog.create(tmp_path / "empty.db", run="r").close()
    logs = [run, run]
    logs[where] = tmp_path / "empty.db"
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *map(str, logs)])
    assert stopped.value.code == 2
    assert "holds no run" in capsys.readouterr().err
