"""What if: a fork is the run that would have been, and costs only what is new."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from lively import TASKS, LivelyModel, lively_world, quick_folder, record, rich_seed
from processes import story
from tampering import tamper

from discernmem.cli import main
from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, Infrastructure, LogError
from discernmem.projections.timeline import Timeline
from discernmem.replayers.config import Config
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.journal import Journal
from discernmem.replayers.models.base import Card, ModelCall, Reply
from discernmem.replayers.models.deferred import DeferredModel
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.overriding import Decision, override
from discernmem.replayers.session import Done, resume, start
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World

UNSAID = frozenset({"evidence", "run", "state_hash"})
"""Fields made of the run's id."""


class Silent(LivelyModel):
    """A model that nobody may ask."""

    def complete(self, call: ModelCall) -> Reply:
        raise AssertionError(f"asked for {self._purpose(call.messages[0].content)}")


class Failing(LivelyModel):
    """A model whose server goes down after some calls."""

    def __init__(self, seed: int, after: int) -> None:
        super().__init__(seed)
        self.left = after

    def complete(self, call: ModelCall) -> Reply:
        self.left -= 1
        if self.left < 0:
            raise Infrastructure("the server went down")
        return super().complete(call)


class Fickle(LivelyModel):
    """A model that never says the same twice, whose server goes down after some calls."""

    def __init__(self, seed: int, salt: str, after: int = 10**9) -> None:
        super().__init__(seed)
        self.salt, self.left = salt, after

    def complete(self, call: ModelCall) -> Reply:
        self.left -= 1
        if self.left < 0:
            raise Infrastructure("the server went down")
        reply = super().complete(call)
        if self._purpose(call.messages[0].content) in ("assistant", "user_proxy"):
            return attrs.evolve(reply, text=f"{reply.text} ({self.salt} {self.left})")
        return reply


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def origin(folder: Path) -> Path:
    return record(folder, rich_seed())


def opener(folder: Path, model: Any = None, **method: Any) -> Callable[..., World]:
    """Opens the lively world of a configuration, with another model if wanted."""

    def open_(config: Config, *_: object) -> World:
        world = lively_world(folder, rich_seed(), method=method)
        made = attrs.evolve(world, config=config, tasks=world.benchmark.tasks()[: config.tasks])
        return attrs.evolve(made, model=model) if model is not None else made

    return open_


def branch(
    origin: Path, path: Path, folder: Path, at: int, model: Any = None, until: int | None = None,
    **changed: Any,
) -> Done:  # fmt: skip
    options = {f"method.{name}": value for name, value in changed.items()}
    return fork(
        Branch(origin=origin, at=at, changed=options),
        path,
        open_=opener(folder, model),
        until=until,
    )


def derived(log: Path) -> list[tuple[Any, ...]]:
    """Every conclusion, all of it but where it stands and when it was written."""
    with EventLog.open(log) as opened:
        return [
            (*r[1:5], r.task_index, r.causation_id, r.payload)
            for r in opened.read(types=(*ev.DERIVED, "MemoryOverridden"))
        ]  # fmt: skip


def said(log: Path) -> list[tuple[Any, ...]]:
    """What every conclusion says, without what is made of the run's id."""

    def words(r: Recorded) -> dict[str, Any]:
        return {k: v for k, v in orjson.loads(r.payload).items() if k not in UNSAID}

    with EventLog.open(log) as opened:
        return [(r.stream_id, r.type, r.task_index, words(r)) for r in opened.read(types=ev.DERIVED)
                if r.type not in ("StoreCheckpointed", "RunFinished")]  # fmt: skip


@pytest.mark.parametrize("at", [0, 1, 5, TASKS])
def test_a_fork_without_a_change_asks_no_model_and_concludes_the_same(
    origin: Path, folder: Path, tmp_path: Path, at: int
) -> None:
    path = tmp_path / "b.db"
    done = branch(origin, path, folder, at, Silent(rich_seed()))
    assert done.asked.get("ModelReplied", 0) == 0
    assert set(done.asked) <= {"TaskStarted", "ContextObserved"}
    assert derived(path) == derived(origin)
    assert replay_offline(path) == replay_offline(origin)
    assert verify_run(path).problems == ()


def test_a_fork_without_reuse_and_without_a_change_asks_no_model(
    folder: Path, tmp_path: Path
) -> None:
    origin = tmp_path / "a.db"
    world = lively_world(folder, rich_seed(), reuse=False)
    start(origin, world)
    path = tmp_path / "b.db"
    done = branch(origin, path, folder, 4, Silent(rich_seed()))
    assert done.asked.get("ModelReplied", 0) == 0
    assert derived(path) == derived(origin)
    assert replay_offline(path).finished


@pytest.mark.parametrize("change", [{"k_inj": 1}, {"n_plus": 1}, {"epsilon": 0.6}, {"rounds": 1}])
def test_a_fork_from_the_start_is_the_run_that_the_settings_would_have_made(
    origin: Path, folder: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    fresh = record(folder, rich_seed(), name=f"fresh-{next(iter(change))}.db", method=change)
    path = tmp_path / "b.db"
    done = branch(origin, path, folder, 0, **change)
    assert said(path) == said(fresh)
    assert said(path) != said(origin)
    with EventLog.open(fresh) as opened:
        asked = sum(1 for _ in opened.read(types=["ModelReplied"]))
    assert done.asked.get("ModelReplied", 0) + done.served["ModelReplied"] == asked
    assert done.served["ModelReplied"] > asked / 4
    assert replay_offline(path).finished
    assert verify_run(path).problems == ()


def test_a_fork_keeps_its_past_and_says_where_it_comes_from(
    origin: Path, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b.db"
    branch(origin, path, folder, 5, epsilon=0.6)
    with EventLog.open(origin) as a, EventLog.open(path) as b:
        forked = b.last("RunForked")
        assert forked is not None
        event = forked.event
        assert isinstance(event, ev.RunForked)
        assert event.position == a.position_at_task(5) == forked.position - 1
        assert event.origin == a.log_id != b.log_id
        assert event.hash == a.head(event.position).hash
        assert event.changed == {"method.epsilon": 0.6}
        assert event.config["method"]["epsilon"] == 0.6
    past = story(path)[: forked.position - 1]
    assert past == story(origin)[: forked.position - 1]
    later = {r[:4] for r in story(path)[forked.position :]}
    assert later - {r[:4] for r in story(origin)}


def test_a_fork_of_a_fork(origin: Path, folder: Path, tmp_path: Path) -> None:
    b, c = tmp_path / "b.db", tmp_path / "c.db"
    branch(origin, b, folder, 3, epsilon=0.6)
    done = branch(b, c, folder, 7, Silent(rich_seed()))
    assert done.asked.get("ModelReplied", 0) == 0
    assert derived(c) == derived(b)
    assert replay_offline(c).finished
    assert verify_run(c).problems == ()
    with pytest.raises(BadInput, match="is itself a fork from task 3 on; fork it at that or"):
        branch(b, tmp_path / "d.db", folder, 2)


@pytest.mark.parametrize("after", [0, 3, 20])
def test_a_fork_that_was_interrupted_is_resumed(
    origin: Path, folder: Path, tmp_path: Path, after: int
) -> None:
    calm, path = tmp_path / "calm.db", tmp_path / "b.db"
    branch(origin, calm, folder, 4, k_inj=1)
    with pytest.raises(Infrastructure):
        branch(origin, path, folder, 4, Failing(rich_seed(), after), k_inj=1)
    resume(path, open_=opener(folder))
    assert derived(path) == derived(calm)
    assert replay_offline(path).finished


def test_a_fork_is_resumed_where_its_origin_is_found(
    origin: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    a, b = tmp_path / "one" / "a.db", tmp_path / "one" / "b.db"
    shutil.copy(origin, a)
    branch(a, b, folder, 4, until=6)
    moved = tmp_path / "other"
    (tmp_path / "one").rename(moved)
    a, b = moved / "a.db", moved / "b.db"
    assert resume(b, open_=opener(folder, Silent(rich_seed())), until=8).tasks == 2

    a = a.rename(tmp_path / "elsewhere.db")
    with pytest.raises(BadInput, match=r"was forked from is not at .*; give it with --origin, or"):
        resume(b, open_=opener(folder))
    other = record(tmp_path, rich_seed(), name="stranger.db", tasks=5)
    with pytest.raises(BadInput, match=r"was not forked from .*stranger\.db"):
        resume(b, origin=other, open_=opener(folder))
    alone = Path(shutil.copy(b, tmp_path / "alone.db"))
    assert resume(b, origin=a, open_=opener(folder, Silent(rich_seed()))).tasks == TASKS - 8
    assert resume(alone, alone=True, open_=opener(folder)).asked["ModelReplied"] > 0
    assert derived(b) == derived(alone)


def test_what_was_decided_in_the_origin_is_decided_in_the_fork_if_the_rule_is_the_same(
    folder: Path, tmp_path: Path
) -> None:
    origin = tmp_path / "a.db"
    start(origin, lively_world(folder, rich_seed()), until=6)
    told = ["--text", "the moon is full", "--reason", "r", "--by", "ada"]
    main(["override", "add-avoid", "m1", str(origin), *told])
    resume(origin, open_=opener(folder))
    assert replay_offline(origin).finished
    same = tmp_path / "b.db"
    done = branch(origin, same, folder, 3, Silent(rich_seed()))
    assert done.served["MemoryOverridden"] == 1
    assert derived(same) == derived(origin)
    assert replay_offline(same).finished
    assert verify_run(same).problems == ()


def decide(log: Path, memory: str, *actions: ev.OverrideAction) -> None:
    for action in actions:
        override(log, Decision(memory=memory, action=action, reason="r", by="ada"))


def stopped_at(path: Path, folder: Path, task: int) -> tuple[Path, str]:
    """A run stopped after a task, and a memory of it that is supplied."""
    start(path, lively_world(folder, rich_seed()), until=task)
    with EventLog.open(path) as log, Timeline(log) as timeline:
        store = timeline.state(log.head().position).store
    return path, next(memory.id for memory in store.ordered() if memory.state != "inactive")


def test_what_was_decided_at_the_end_of_an_origin_is_decided_once(
    folder: Path, tmp_path: Path
) -> None:
    origin, memory = stopped_at(tmp_path / "a.db", folder, 6)
    decide(origin, memory, "retire", "revive")
    path = tmp_path / "b.db"
    done = branch(origin, path, folder, 5, until=8)
    assert done.served["MemoryOverridden"] == 2
    resume(origin, open_=opener(folder), until=8)
    assert derived(path) == derived(origin)


@pytest.mark.parametrize("alike", [True, False], ids=["as in the origin", "retired before"])
def test_a_fork_killed_among_the_decisions_of_its_origin_takes_over_the_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alike: bool
) -> None:
    """Equal decisions are told apart; one that did not apply is not tried again later."""
    origin, memory = stopped_at(tmp_path / "a.db", folder, 6)
    decide(origin, memory, "retire", "revive", "retire")

    def forked(name: str) -> Path:
        path = tmp_path / name
        branch(origin, path, folder, 6, until=6)
        if not alike:
            decide(path, memory, "retire")
        return path

    calm = forked("calm.db")
    resume(calm, open_=opener(folder), until=7)
    real = Journal.take_over
    for after in range(3):
        path, left = forked(f"{after}.db"), after

        def dying(journal: Journal, recorded: Recorded) -> Recorded:
            nonlocal left
            left -= 1
            if left < 0:
                raise Infrastructure("killed")
            return real(journal, recorded)

        monkeypatch.setattr(Journal, "take_over", dying)
        if alike or after < 2:
            with pytest.raises(Infrastructure):
                resume(path, open_=opener(folder), until=7)
        monkeypatch.setattr(Journal, "take_over", real)
        resume(path, open_=opener(folder), until=7)
        assert derived(path) == derived(calm)


def test_an_answer_that_a_fork_got_without_its_origin_is_kept_with_all_that_follows(
    folder: Path, tmp_path: Path
) -> None:
    origin, path = tmp_path / "a.db", tmp_path / "b.db"
    world = lively_world(folder, rich_seed())
    start(origin, attrs.evolve(world, model=Fickle(rich_seed(), "a")), until=3)
    branch(origin, path, folder, 0, until=0)
    with pytest.raises(Infrastructure):
        resume(path, alone=True, open_=opener(folder, Fickle(rich_seed(), "b", after=1)))
    resume(path, open_=opener(folder, Fickle(rich_seed(), "c")), until=3)
    assert verify_run(path).problems == ()
    assert replay_offline(path).tasks == 3


@pytest.mark.parametrize(("was", "now"), [(False, False), (False, True), (True, False)])
def test_a_fork_without_reuse_makes_each_execution_of_answers_of_its_own(
    folder: Path, tmp_path: Path, was: bool, now: bool
) -> None:
    origin, path = tmp_path / "a.db", tmp_path / "b.db"
    world = lively_world(folder, rich_seed(), reuse=was)
    start(origin, attrs.evolve(world, model=Fickle(rich_seed(), "a")), until=6)
    changed = {"method.k_inj": 1, "reuse": now}
    at = Branch(origin=origin, at=2, changed=changed)
    done = fork(at, path, open_=opener(folder, Fickle(rich_seed(), "b")), until=6)
    assert done.served["ModelReplied"] > 0
    assert verify_run(path).problems == ()
    assert replay_offline(path).tasks == 6
    if not now:
        assert max(uses_of_replies(path).values()) == 1


def uses_of_replies(path: Path) -> Counter[str]:
    """In how many executions after the fork each reply was said."""
    uses: Counter[str] = Counter()
    with EventLog.open(path) as log:
        forked = log.last("RunForked")
        assert forked is not None
        for recorded in log.read(after=forked.position, types=["ExecutionFinished"]):
            steps = orjson.loads(log.blob(recorded.event.trajectory))  # type: ignore[attr-defined]
            uses.update({step["reply"] for step in steps if step["reply"]})
    return uses


def test_what_is_not_what_the_origin_recorded_is_not_taken_over(
    origin: Path, folder: Path, tmp_path: Path
) -> None:
    damaged, path = Path(shutil.copy(origin, tmp_path / "a.db")), tmp_path / "b.db"
    with EventLog.open(origin) as log:
        after = log.position_at_task(4)
        reply = next(log.read(after=after, types=["ModelReplied"]))
    tamper(
        damaged,
        "update events set payload = replace(payload, '\"completion_tokens\":1', "
        f"'\"completion_tokens\":2') where position = {reply.position}",
    )
    with pytest.raises(LogError, match=rf"a\.db: event {reply.position} is not what was recorded"):
        branch(damaged, path, folder, 4)
    resume(path, origin=origin, open_=opener(folder, Silent(rich_seed())))
    assert derived(path) == derived(origin)


def test_a_fork_in_a_folder_reached_by_a_link_finds_its_origin(
    origin: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/away")
    shutil.copy(origin, tmp_path / "ö 1.db")
    monkeypatch.chdir(tmp_path)
    branch(Path("ö 1.db"), Path("link/b.db"), folder, 4, until=5)
    monkeypatch.chdir(tmp_path / "far")
    for path in ("away/b.db", "../link/b.db"):
        assert resume(Path(path), open_=opener(folder, Silent(rich_seed()))).tasks in (0, TASKS - 5)
    assert derived(Path("away/b.db")) == derived(origin)


def test_a_fork_whose_model_is_not_here_is_kept_to_be_resumed(
    origin: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.db"
    with pytest.raises(SystemExit) as stopped:
        main(["fork", str(origin), "--at", "4", "--set", "k_inj=1", "--out", str(path)])
    assert stopped.value.code == 3
    assert capsys.readouterr().err.endswith("then resume the log\n")
    calm = tmp_path / "calm.db"
    branch(origin, calm, folder, 4, k_inj=1)
    resume(path, open_=opener(folder))
    assert derived(path) == derived(calm)


def test_a_model_that_is_another_one_now_is_not_asked() -> None:
    facts = {"name": "lively"}
    model = DeferredModel(Card(fingerprint="another", facts=facts), lambda: LivelyModel(1))
    call = ModelCall(messages=(), temperature=0.0, top_p=1.0, max_tokens=1, seed=1)
    with pytest.raises(Infrastructure, match="lively was recorded with fingerprint another and"):
        model.complete(call)


def test_a_decision_in_a_fork_is_one_of_its_own(
    origin: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.db"
    branch(origin, path, folder, 5, until=5)
    main(["override", "edit", "m1", str(path), "--text", "Wait.", "--reason", "r", "--by", "ada"])
    resume(path, origin=origin, open_=opener(folder))
    assert replay_offline(path).finished
    assert verify_run(path).problems == ()
    main(["compare", str(origin), str(path)])
    told = capsys.readouterr().out
    assert "task 6" in told
    assert "because a person's decision: m1.v" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--at", "99"], "task 99 is not completed in this log"),
        (["--at", "-1"], "task -1 is not completed"),
        (["--at", "3", "--until", "2"], "a fork at task 3 cannot stop at 2"),
        (["--at", "3", "--set", "epsilon=-1"], "epsilon must be >= 0"),
        (["--at", "3", "--set", "banana=1"], "unknown key 'banana'"),
        (["--at", "3", "--set", "epsilon"], "write it as key=value"),
        (["--at", "3", "--set", "host=banana"], "host 'banana' is unknown"),
        (["--at", "3", "--set", "tasks=2"], "the stream now ends at task 2, before 3"),
        (["--at", "3", "--set", "benchmark.source=demo"], "was q1 and is another one now"),
    ],
)
def test_a_fork_that_cannot_be_leaves_nothing(
    origin: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    before = origin.read_bytes()
    with pytest.raises(SystemExit) as stopped:
        main(["fork", str(origin), *arguments, "--out", str(tmp_path / "b.db")])
    assert stopped.value.code == 2
    line = capsys.readouterr().err
    assert says in line
    assert line.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert origin.read_bytes() == before


def test_an_origin_whose_name_cannot_be_recorded_is_refused(
    origin: Path, folder: Path, tmp_path: Path
) -> None:
    unnamed = Path(shutil.copy(origin, tmp_path / os.fsdecode(b"a\xff.db")))
    with pytest.raises(BadInput, match="its name is not UTF-8"):
        branch(unnamed, tmp_path / "b.db", folder, 3)
    assert list(tmp_path.glob("b.*")) == []


def test_a_fork_takes_no_file_that_is_there(origin: Path, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    path.write_text("mine")
    with pytest.raises(BadInput, match="exists"):
        branch(origin, path, folder, 3)
    assert path.read_text() == "mine"
