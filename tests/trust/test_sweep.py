"""A sweep is as many runs as it has settings, each whole, each served by those before it."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lively import LivelyModel, lively_world, quick_folder
from processes import story
from sweeps import BUDGET, SEED, TASKS, in_process, opener, planned, sweep
from tampering import tamper

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, Infrastructure, LogError
from discernmem.replayers import sweeping
from discernmem.replayers.config import Config
from discernmem.replayers.models.base import ModelCall, Reply
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import start
from discernmem.replayers.sweeping import PRESETS, Axis, Planned, Sweep
from discernmem.replayers.swept import rows
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World


class Counted(LivelyModel):
    """A model that counts its calls, and whose server goes down after some."""

    def __init__(self, left: int = 10**9) -> None:
        super().__init__(SEED)
        self.left, self.answered = left, 0

    def complete(self, call: ModelCall) -> Reply:
        if self.answered == self.left:
            raise Infrastructure("the server went down")
        self.answered += 1
        return super().complete(call)


@pytest.fixture(scope="module")
def stream() -> Iterator[Path]:
    """A folder with the tasks that every sweep here is about."""
    with quick_folder() as folder:
        lively_world(folder, SEED, tasks=TASKS)
        yield folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def swept(stream: Path) -> Path:
    """A finished sweep, not to be changed."""
    folder = stream / "swept"
    sweep(folder, planned(stream, BUDGET), stream)
    return folder


@pytest.fixture
def copied(swept: Path, tmp_path: Path) -> Path:
    """The finished sweep, to be changed."""
    return Path(shutil.copytree(swept, tmp_path / "swept"))


# -- what is recorded --------------------------------------------------------------------------


@pytest.mark.parametrize("reuse", [True, False])
def test_every_run_is_the_run_it_would_have_been_alone(
    stream: Path, tmp_path: Path, reuse: bool
) -> None:
    runs = planned(stream, PRESETS["ablations"], reuse=reuse)
    sweep(tmp_path, runs, stream)
    for each in runs:
        alone = tmp_path / "alone.db"
        start(alone, opener(stream)(each.config))
        assert story(each.log(tmp_path)) == story(alone)
        alone.unlink()


def test_every_log_verifies_and_replays_offline_alone(swept: Path, tmp_path: Path) -> None:
    logs = sorted(swept.glob("k_inj=?.db"))
    assert len(logs) == 3
    for log in logs:
        moved = Path(shutil.copy(log, tmp_path / "moved.db"))
        assert verify_run(moved).problems == ()
        assert replay_offline(moved).finished


def test_what_an_earlier_run_was_answered_is_not_asked_again(stream: Path, tmp_path: Path) -> None:
    models = [Counted() for _ in BUDGET.values]
    runs = planned(stream, BUDGET)
    with Sweep(tmp_path, runs, open_=lambda c: opener(stream, models[c.method.k_inj])(c)) as s:
        for _ in runs:
            s.go_on()
    found = rows(tmp_path, runs)
    assert [row.asked["ModelReplied"] for row in found] == [model.answered for model in models]
    assert found[0].served["ModelReplied"] == 0
    assert found[0].asked["TextEmbedded"] > 0
    for row in found[1:]:
        assert row.served["ModelReplied"] > 0
    for row in found:
        with EventLog.open(tmp_path / row.log) as log:
            replies = sum(1 for _ in log.read(types=["ModelReplied"]))
        assert row.asked["ModelReplied"] + row.served["ModelReplied"] == replies


def test_executions_are_made_in_every_run_and_never_taken_over(swept: Path) -> None:
    for log in sorted(swept.glob("k_inj=?.db")):
        with EventLog.open(log) as opened:
            for recorded in opened.read(types=["ExecutionFinished"]):
                event = recorded.event
                assert isinstance(event, ev.ExecutionFinished)
                for step in json.loads(opened.blob(event.trajectory)):
                    assert not step["reply"] or opened.by_id(step["reply"]) is not None


def test_what_is_damaged_in_an_earlier_log_is_not_taken_over(copied: Path, stream: Path) -> None:
    runs = planned(stream, BUDGET)
    last = runs[2].log(copied)
    last.unlink()
    tamper(
        runs[0].log(copied),
        'update events set payload = replace(payload, \'"finish":"stop"\', \'"finish":"stxp"\')'
        " where type = 'ModelReplied'",
    )
    with pytest.raises(LogError, match=r"k_inj=0\.db: event \d+ is not what was recorded there"):
        sweep(copied, runs, stream)


# -- going on ----------------------------------------------------------------------------------


def test_a_finished_sweep_is_left_alone_and_opens_no_world(copied: Path, stream: Path) -> None:
    def nothing(_: Config) -> World:
        raise AssertionError("opened")

    runs = planned(stream, BUDGET)
    before = [story(each.log(copied)) for each in runs]
    with Sweep(copied, runs, open_=nothing) as going:
        assert [going.go_on() for _ in runs] == [False, False, False]
    assert [story(each.log(copied)) for each in runs] == before


@pytest.mark.parametrize("after", [0, 30, 60])
def test_a_sweep_goes_on_after_trouble_as_if_there_had_been_none(
    swept: Path, stream: Path, tmp_path: Path, after: int
) -> None:
    runs = planned(stream, BUDGET)
    with pytest.raises(Infrastructure, match="went down"):
        sweep(tmp_path, runs, stream, Counted(left=after))
    sweep(tmp_path, runs, stream)
    for each in runs:
        assert story(each.log(tmp_path)) == story(each.log(swept))
    assert rows(tmp_path, runs) == rows(swept, runs)


def test_a_sweep_killed_in_the_middle_of_a_run_leaves_the_same_logs(
    swept: Path, stream: Path, tmp_path: Path
) -> None:
    runs = planned(stream, BUDGET)
    second = runs[1].log(tmp_path)
    process = in_process(tmp_path, stream)
    try:
        while position(second) < 20 and process.is_alive():
            time.sleep(0.001)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL, "it ended by itself before it could be killed"
    assert position(second) < position(runs[1].log(swept))
    sweep(tmp_path, runs, stream)
    for each in runs:
        assert story(each.log(tmp_path)) == story(each.log(swept))
        assert verify_run(each.log(tmp_path)).ok
    assert rows(tmp_path, runs) == rows(swept, runs)


def position(log: Path) -> int:
    if not log.exists():
        return -1
    with EventLog.open(log) as opened:
        return opened.head().position


# -- the plan ----------------------------------------------------------------------------------


def test_runs_are_named_by_what_varies_and_every_combination_is_one(stream: Path) -> None:
    many = planned(stream, Axis("method.rounds", (1, 2)), Axis("model.name", ("a/b", "c")))
    assert [each.name for each in many] == [
        "rounds=1,model.name=a_b",
        "rounds=1,model.name=c",
        "rounds=2,model.name=a_b",
        "rounds=2,model.name=c",
    ]
    assert [each.name for each in planned(stream, PRESETS["ablations"])] == [
        "without=none",
        "without=repair-validation",
        "without=meta-memory",
        "without=meta-memory+repair-validation",
    ]
    assert many[2].config.method.rounds == 2
    assert many[2].varied == {"method.rounds": 2, "model.name": "a/b"}


def test_the_presets_are_the_sweeps_of_the_paper() -> None:
    values = {axis.key: axis.values for axis in PRESETS.values()}
    assert values["method.rounds"] == (1, 2, 3, 4, 5)
    assert values["method.k_inj"] == (0, 1, 2, 3)
    assert values["method.k_id"] == (0, 5, 10, 15, 20)
    assert len(values["method.without"]) == 4


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ([Axis("method.rounds", (1, 1))], "two runs of the sweep would be called rounds=1"),
        ([Axis("method.rounds", (1,)), Axis("method.rounds", (2,))], "method.rounds varies twice"),
        ([Axis("method.rounds", (1, -1))], "test, rounds=-1: [method]: rounds must be >= 0"),
        ([Axis("model.name", ("x" * 300,))], "is too long for a file"),
    ],
)
def test_a_plan_that_is_none_is_refused(stream: Path, axes: list[Axis], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        planned(stream, *axes)
    assert message in str(refused.value)


def fewer(stream: Path) -> tuple[Planned, ...]:
    return planned(stream, Axis("method.k_inj", (0, 1)))


def other(stream: Path) -> tuple[Planned, ...]:
    return planned(stream, BUDGET, n1=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (fewer, "its runs are k_inj=0, k_inj=1, k_inj=2, not k_inj=0, k_inj=1; sweep it"),
        (other, "method.n1 of k_inj=0 was 2 and is 1; sweep it"),
    ],
)
def test_a_changed_plan_is_refused_and_changes_nothing(
    copied: Path,
    stream: Path,
    changed: Callable[[Path], tuple[Planned, ...]],
    message: str,
) -> None:
    before = {file: file.read_bytes() for file in copied.iterdir()}
    with pytest.raises(BadInput) as refused:
        sweep(copied, changed(stream), stream)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert {file: file.read_bytes() for file in copied.iterdir()} == before


def test_a_log_of_another_configuration_or_without_a_plan_is_no_part_of_a_sweep(
    copied: Path, stream: Path
) -> None:
    runs = planned(stream, BUDGET)
    shutil.copy(runs[0].log(copied), runs[1].log(copied))
    with pytest.raises(BadInput, match=r"k_inj=1\.db: holds a run of another configuration"):
        sweep(copied, runs, stream)
    (copied / sweeping.PLAN).unlink()
    with pytest.raises(BadInput, match=r"k_inj=0\.db is there, but no sweep\.json beside it"):
        sweep(copied, runs, stream)
    for damaged in ("[]", '{"runs": [{"name": "k_inj=0", "config": 4}]}'):
        (copied / sweeping.PLAN).write_text(damaged)
        with pytest.raises(BadInput, match=r"sweep\.json: is no plan of a sweep"):
            sweep(copied, runs, stream)


def test_what_cannot_be_opened_leaves_no_folder(stream: Path, tmp_path: Path) -> None:
    runs = planned(stream, Axis("host", ("autogen", "nobody")))
    with pytest.raises(BadInput, match="nobody"):
        sweep(tmp_path / "new", runs, stream)
    assert not (tmp_path / "new").exists()


# -- the command -------------------------------------------------------------------------------


@pytest.fixture
def command(stream: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The options of the sweep, its model scripted."""
    monkeypatch.setattr(sweeping, "open_world", lambda config, **_: opener(stream)(config))
    config = tmp_path / "sweep.json.toml"
    config.write_text(
        f'[benchmark]\nsource = "{stream / "stream.jsonl"}"\n[model]\nname = "scripted"\n'
        '[embedder]\nname = "bag"\n'
        "[method]\ntheta = -1.0\ncandidates = 2\nrounds = 2\nattempts = 2\nk_inj = 2\n"
    )
    return ["sweep", str(tmp_path / "swept"), "--config", str(config)]


def test_the_command_prints_a_line_per_run(
    command: list[str], swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*command, "--vary", "k_inj=0,1,2"])
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "1 of 3: k_inj=0"
    header, *lines = told[-4:]
    assert header.split() == [
        "setting", "score", "memories", "revised", "inactive", "asked", "served",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines] == ["k_inj=0", "k_inj=1", "k_inj=2"]
    assert "nothing" in lines[0]
    main([*command, "--vary", "k_inj=0,1,2"])
    again = capsys.readouterr().out.splitlines()
    assert again.count("is finished already") == 3
    assert again[-4:] == told[-4:]
    for log in swept.glob("k_inj=?.db"):
        assert story(Path(command[1]) / log.name) == story(log)


def test_the_command_prints_its_analyses_as_json(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*command, "--preset", "ablations", "--tasks", "3", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in found] == [
        "without=none",
        "without=repair-validation",
        "without=meta-memory",
        "without=meta-memory+repair-validation",
    ]
    assert found[3]["varied"] == {"method.without": ["meta-memory", "repair-validation"]}
    for row in found:
        assert row["tasks"] == 3
        assert row["analyses"]["memories"] == 0 or row["analyses"]["states"]["active"] is not None


def test_a_model_that_stays_is_opened_once(
    command: list[str], stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def open_(config: Config, *, model: object, embedder: object) -> World:
        given.append((config.model.name, model, embedder))
        return opener(stream)(config)

    monkeypatch.setattr(sweeping, "open_world", open_)
    main([*command, "--vary", "model.name=a,b", "--vary", "k_inj=0,1", "--tasks", "1"])
    assert [(name, model is None, embedder is None) for name, model, embedder in given] == [
        ("a", True, True),
        ("a", False, False),
        ("b", True, False),
        ("b", False, False),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "sweep: give --vary or --preset"),
        (["--vary", "rounds"], "--vary rounds: write it as key=value,value"),
        (["--vary", "rounds="], "--vary rounds=: write it as key=value,value"),
        (["--vary", "rounds=1,two"], "rounds must be a whole number (got '1')"),
        (["--vary", "turns=1,2"], "unknown key 'turns'"),
    ],
)
def test_the_command_refuses_what_is_no_plan_in_one_line(
    command: list[str],
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*command, *options])
    assert stopped.value.code == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
    assert not Path(command[1]).exists()


def test_values_are_read_as_toml_and_else_as_text(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*command, "--vary", "without=[],['meta-memory']", "--vary", "host=autogen", "--json",
          "--tasks", "1"])  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in found] == [
        "without=none,host=autogen",
        "without=meta-memory,host=autogen",
    ]


def test_the_command_offers_the_presets_there_are() -> None:
    from discernmem.cli.sweeping import sweep as command

    (preset,) = [each for each in command.params if each.name == "preset"]
    assert list(preset.type.choices) == list(PRESETS)  # type: ignore[attr-defined]
