"""The recorded example: what ships is whole, and what the README shows of it is what it says."""

import shutil
from pathlib import Path

import pytest

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.demo import open_recorded

README = Path(__file__).parents[1] / "README.md"


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


def read_shown(said: list[str]) -> None:
    """Lines that a command printed are those in the README, as far as it shows them."""
    shown = README.read_text("utf-8").splitlines()
    start = shown.index(said[0])
    for line, real in zip(shown[start:], said, strict=False):
        if line == "…" or line.startswith(("```", "$ ")):
            break
        assert line == real or (line.endswith("…") and real.startswith(line[:-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        ["store", "--at", "4"],
        ["diff", "--from", "9", "--to", "10"],
        ["why", "m3"],
        ["replay", "--offline"],
        ["verify"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_readme_shows_the_real_output(
    example: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    main([*arguments, str(example)])
    read_shown(capsys.readouterr().out.splitlines())


def test_the_readme_shows_a_real_fork_made_without_the_model(
    example: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "demo").mkdir()
    shutil.copy(example, tmp_path / "demo" / "example.db")
    monkeypatch.chdir(tmp_path)
    main(["fork", "demo/example.db", "--at", "9", "--set", "rounds=1", "--out", "whatif.db"])
    read_shown(capsys.readouterr().out.splitlines()[-2:])
    main(["compare", "demo/example.db", "whatif.db"])
    read_shown(capsys.readouterr().out.splitlines())
    main(["replay", "--offline", "whatif.db"])
    assert "all equal" in capsys.readouterr().out


def test_the_readme_shows_real_decisions(
    example: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copy(example, tmp_path / "example.db")
    monkeypatch.chdir(tmp_path)
    main(["fork", "example.db", "--at", "10", "--until", "10", "--out", "b.db"])
    capsys.readouterr()
    revive = "one harm on a question it does not fit"
    by = ["--by", "ada"]
    main(["override", "revive", "m1", "b.db", "--reason", revive, *by, "--expect", "v1"])
    read_shown(capsys.readouterr().out.splitlines())
    avoid = ["--text", "the passage names no author", "--reason", "it did harm there", *by]
    main(["override", "add-avoid", "m1", "b.db", *avoid])
    read_shown(capsys.readouterr().out.splitlines())
    retire = ["--reason", "no use", "--by", "bob", "--expect", "v1@431"]
    with pytest.raises(SystemExit):
        main(["override", "retire", "m1", "b.db", *retire])
    read_shown(capsys.readouterr().err.splitlines())


def test_opening_the_example_again_keeps_what_is_there(example: Path) -> None:
    before = example.stat().st_mtime_ns
    assert open_recorded(example.parent) == example
    assert example.stat().st_mtime_ns == before
