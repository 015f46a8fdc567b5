"""An index is there whole or not at all, and the command that makes one."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discernmem.cli import main
from discernmem.eventlog.errors import BadInput, Infrastructure, LogBusy
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.models.embedders import WordLlamaEmbedder
from discernmem.replayers.search.building import build_index
from discernmem.replayers.search.local import open_index

TOWER = Passage(title="Tower", text="It leans.")


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def passages() -> Iterator[Passage]:
        yield from [TOWER] * 2500
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(passages(), tmp_path / "town.db")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_build_leaves_no_index_and_the_next_one_succeeds(tmp_path: Path) -> None:
    out = tmp_path / "town.db"
    endless = (
        "import itertools, pathlib, sys\n"
        "from discernmem.replayers.benchmarks.base import Passage\n"
        "from discernmem.replayers.search.building import build_index\n"
        "passages = (Passage(title='T', text='word ' * 99) for _ in itertools.count())\n"
        "build_index(passages, pathlib.Path(sys.argv[1]))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", endless, str(out)])
    draft = tmp_path / "town.db.new"
    deadline = time.monotonic() + 60
    while not (draft.exists() and draft.stat().st_size > 1 << 16):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.01)
    with pytest.raises(LogBusy, match=f"process {child.pid}"):
        build_index([TOWER], out)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not out.exists()
    assert build_index([TOWER], out).passages == 1
    assert open_index(out).search("tower", 3) == (TOWER,)
    assert [path.name for path in tmp_path.iterdir()] == ["town.db"]


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "town.db"
    out.write_bytes(b"mine")
    with pytest.raises(BadInput, match=r"town\.db exists"):
        build_index([TOWER], out)
    assert out.read_bytes() == b"mine"


def test_a_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="choose a folder that exists"):
        build_index([TOWER], tmp_path / "absent" / "town.db")


def test_a_passage_the_embedder_does_not_take_is_named(tmp_path: Path) -> None:
    class Short(WordLlamaEmbedder):
        def embed(self, text: str) -> bytes:
            if len(text) > 20:
                raise BadInput("too long")
            return super().embed(text)

    long = Passage(title="Long", text="word " * 9)
    with pytest.raises(BadInput, match=r"passage 2 \(Long\): too long"):
        build_index([TOWER, long], tmp_path / "town.db", embedder=Short(), spec="wordllama")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_infrastructure_failure_that_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    many = (Passage(title=f"T{at}", text=f"word{at} " * 200) for at in range(9000))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        with pytest.raises(Infrastructure, match=r"town\.db: .*build the index again"):
            build_index(many, tmp_path / "town.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


# -- the command -------------------------------------------------------------------------------


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    path = tmp_path / "town.jsonl"
    path.write_text('{"title": "Tower", "text": "It leans."}\n{"text": "A river."}\n', "utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["index", *map(str, arguments)])
    return capsys.readouterr().out


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int | str | None, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["index", *map(str, arguments)])
    return exit_.value.code, capsys.readouterr().err.strip()


def test_the_command_makes_an_index_beside_its_passages_and_says_how_to_use_it(
    passages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = passages.with_name("town.jsonl.index.db")
    assert run(capsys, passages) == (
        f"{out}: 2 passages, searched by words\nuse it: --set benchmark.index={out}\n"
    )
    assert open_index(out).search("tower", 1) == (TOWER,)


def test_the_command_makes_an_index_of_vectors_and_tells_of_it_in_json(
    passages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "near.db"
    told = json.loads(run(capsys, passages, "--kind", "vectors", "--out", out, "--json"))
    searcher = open_index(out)
    assert told["index"] == str(out)
    assert told["passages"] == 2
    assert told["embedder"] == searcher.facts["embedder"] == WordLlamaEmbedder().card.fingerprint
    assert told["content"] == searcher.facts["content"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("{}", (), "town.jsonl, line 1: needs title and text"),
        (None, ("--embedder", "wordllama"), "--embedder wordllama: goes with --kind vectors"),
        (None, ("--kind", "vectors", "--embedder", "no.gguf"), "no.gguf"),
        (None, ("--kind", "colours"), "'colours' is not one of"),
    ],
)
def test_bad_input_to_the_command_is_one_line_and_leaves_no_file(
    passages: Path,
    content: str | None,
    options: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        passages.write_text(content, "utf-8")
    status, said = failed(capsys, passages, *options)
    assert status == 2
    assert said.count("\n") == 0
    assert message in said
    assert list(passages.parent.iterdir()) == [passages]


def test_the_command_says_how_far_it_is_only_where_that_is_wanted(
    passages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["index", str(passages)])
    assert capsys.readouterr().err == ""
    main(["index", str(passages), "--out", str(passages.with_name("other.db")), "--log-json"])
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in told] == ["step_started", "step_done", "finished"]
    assert told[1]["done"] == told[1]["of"] == passages.stat().st_size
