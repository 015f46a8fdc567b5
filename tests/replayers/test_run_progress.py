"""What whoever watches a run is told: it agrees with the log, and leaves no trace in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import pytest
from lively import LivelyModel, lively_world, quick_folder, rich_seed
from processes import story

from discernmem.eventlog import EventLog
from discernmem.projections.summary import summarise
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.progress import (
    Asking,
    Away,
    Back,
    ExecutionBegun,
    Notice,
    Observed,
    RunBegun,
    RunEnded,
    TaskBegun,
    TaskFinished,
    TaskReplayed,
)
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run

TASKS = 8


class Stopped(BaseException):
    """What a listener raises that wants no more."""


@attrs.define
class Heard:
    """Keeps what it is told; raises at the notice number ``stop``."""

    notices: list[Notice] = attrs.field(factory=list)
    stop: int | None = None

    def hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        if len(self.notices) == self.stop:
            raise Stopped

    def of(self, kind: type) -> list:
        return [notice for notice in self.notices if isinstance(notice, kind)]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Heard]:
    folder = tmp_path_factory.mktemp("watched")
    heard = Heard()
    start(folder / "run.db", lively_world(folder, rich_seed(), tasks=TASKS), listener=heard)
    return folder / "run.db", heard


def test_a_watched_run_records_what_an_unwatched_one_does(
    watched: tuple[Path, Heard], tmp_path: Path
) -> None:
    log, heard = watched
    start(tmp_path / "run.db", lively_world(log.parent, rich_seed(), tasks=TASKS))
    assert len(heard.notices) > 100
    assert story(log) == story(tmp_path / "run.db")


def test_each_answer_that_is_recorded_is_told_once(watched: tuple[Path, Heard]) -> None:
    path, heard = watched
    with EventLog.open(path) as log:
        recorded = Counter(r.type for r in log.read())
    asked = Counter(notice.kind for notice in heard.of(Observed) if notice.by == "world")
    kinds = ("ModelReplied", "TextEmbedded", "ExecutionFinished")
    assert asked == {kind: recorded[kind] for kind in kinds}


def test_what_each_task_cost_is_what_the_log_says(watched: tuple[Path, Heard]) -> None:
    path, heard = watched
    with EventLog.open(path) as log:
        rows = summarise(log.read())
    assert [notice.row for notice in heard.of(TaskFinished)] == rows


def test_executions_told_within_a_task_add_up_to_what_it_cost(
    watched: tuple[Path, Heard],
) -> None:
    counted: Counter[str] = Counter()
    for notice in watched[1].notices:
        match notice:
            case TaskBegun():
                counted.clear()
            case ExecutionBegun():
                counted["begun"] += 1
            case Observed(kind="ExecutionFinished"):
                counted["saved" if notice.saved else "run"] += 1
            case TaskFinished(row):
                assert counted["run"] == row.executions_run
                assert counted["saved"] == row.executions_saved
                assert counted["begun"] == row.executions_asked


def test_what_is_done_is_told_in_words(watched: tuple[Path, Heard]) -> None:
    heard = watched[1]
    words = {notice.words for notice in heard.of(ExecutionBegun)}
    asked = {notice.what for notice in heard.of(Asking)}
    assert "execution of q1" in words
    assert any(w.startswith("replay of m1 on q") and w.endswith(" for reuse") for w in words)
    assert any(w.endswith("for candidate 1.1") for w in words)
    assert any(w.startswith("replay of no memory on q") for w in words)
    assert {"embedding", "extraction of assistant", "answer of assistant"} <= asked


def test_the_world_is_asked_only_where_that_was_told_before(
    watched: tuple[Path, Heard],
) -> None:
    waiting = 0
    for notice in watched[1].notices:
        match notice:
            case Asking():
                assert waiting == 0
                waiting = notice.answers
            case Observed(by="world") if notice.kind != "ExecutionFinished":
                waiting -= 1
                assert waiting >= 0


def test_a_team_plays_away_and_what_it_asks_is_ours(watched: tuple[Path, Heard]) -> None:
    away = False
    for notice in watched[1].notices:
        match notice:
            case Away():
                away = True
            case Back():
                away = False
            case Observed() | Asking() | TaskBegun() | TaskFinished():
                assert not away


def test_a_run_says_where_it_begins_and_that_it_ends(tmp_path: Path) -> None:
    world = lively_world(tmp_path, rich_seed(), tasks=TASKS)
    first, second = Heard(), Heard()
    log = tmp_path / "run.db"
    start(log, world, until=3, listener=first)
    resume(log, open_=lambda _: world, listener=second)
    assert first.notices[0] == RunBegun(tasks=3, done=0)
    assert first.notices[-1] == second.notices[-1] == RunEnded()
    rows = [notice.row for notice in first.of(TaskFinished)]
    assert second.notices[0] == RunBegun(
        tasks=TASKS,
        done=3,
        run=sum(row.executions_run for row in rows),
        saved=sum(row.executions_saved for row in rows),
    )


@pytest.mark.parametrize("part", range(6))
def test_stopped_at_any_notice_the_log_is_whole_and_goes_on_to_the_same_end(
    part: int, watched: tuple[Path, Heard]
) -> None:
    path, heard = watched
    whole = story(path)
    for number in Random(part).sample(range(1, len(heard.notices) + 1), 3):
        with quick_folder() as folder:
            log = folder / "run.db"
            world = lively_world(path.parent, rich_seed(), tasks=TASKS)
            with pytest.raises(Stopped):
                start(log, world, listener=Heard(stop=number))
            assert verify_run(log).ok
            assert log.with_name("run.db.head").exists()
            assert whole[: len(story(log))] == story(log)
            resume(log, open_=lambda _, world=world: world)
            assert story(log) == whole


def test_a_fork_tells_what_another_log_answered(
    watched: tuple[Path, Heard], tmp_path: Path
) -> None:
    heard, model = Heard(), LivelyModel(rich_seed())
    open_: Callable[..., object] = lambda config, _: attrs.evolve(  # noqa: E731
        lively_world(tmp_path, rich_seed(), tasks=TASKS), config=config, model=model
    )
    done = fork(
        Branch(origin=watched[0], at=4, changed={}),
        tmp_path / "fork.db",
        open_=open_,
        listener=heard,
    )
    assert model.calls == []
    told = Counter(notice.kind for notice in heard.of(Observed) if notice.by == "other log")
    assert told["ModelReplied"] <= done.served["ModelReplied"]
    assert told["TextEmbedded"] == done.served["TextEmbedded"] > 0
    assert not heard.of(Asking)


def test_an_offline_replay_tells_each_task(watched: tuple[Path, Heard]) -> None:
    heard = Heard()
    replayed = replay_offline(watched[0], heard)
    assert heard.notices[0] == RunBegun(tasks=TASKS, done=0)
    told = heard.of(TaskReplayed)
    assert [notice.index for notice in told] == list(range(1, TASKS + 1))
    # The last conclusion is the end of the run.
    assert told[-1].agreed == replayed.agreed - 1
    assert {notice.by for notice in heard.of(Observed)} == {"log"}


def test_verification_tells_each_step_to_its_end(watched: tuple[Path, Heard]) -> None:
    told: list[tuple[str, int, int]] = []
    report = verify_run(watched[0], told=lambda *notice: told.append(notice))
    assert report.ok
    assert list(dict.fromkeys(step for step, _, _ in told)) == [
        "file",
        "blobs",
        "events",
        "links",
        "rules",
    ]
    for step in ("file", "blobs", "events", "links", "rules"):
        done, of = next((done, of) for name, done, of in reversed(told) if name == step)
        assert done == of > 0
    assert ("events", report.checked, report.checked) in told
