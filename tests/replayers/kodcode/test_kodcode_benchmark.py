"""The stream, its facts and its episodes; and that hidden tests stay hidden."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted import BagEmbedder, ScriptedModel

from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.eventlog.export import export
from discernmem.eventlog.log import EventLog
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Outcome
from discernmem.replayers.benchmarks.kodcode import KodCodeBenchmark, benchmark
from discernmem.replayers.config import parse_config
from discernmem.replayers.datasets import write_manifest
from discernmem.replayers.session import start
from discernmem.replayers.world import open_world

Write = Callable[..., Path]

GOOD = "def double(number):\n    return 2 * number\n"
BAD = "def double(number):\n    return number\n"


def fenced(code: str) -> str:
    return f"```python\n{code}```"


def play(stream: Path, action: str, **options: Any) -> tuple[str, Outcome]:
    opened = KodCodeBenchmark(stream, **options)
    episode = opened.environment(opened.tasks()[0])
    observation = episode.step(action)
    assert episode.done
    return observation, episode.outcome()


# -- the stream --------------------------------------------------------------------------------


def test_a_task_shows_the_question_and_what_to_define(stream: Write) -> None:
    task = KodCodeBenchmark(stream()).tasks()[0]
    assert (task.id, task.domain) == ("own-1", "numbers")
    assert task.text == (
        "Write a function `double(number)`.\n"
        "\n"
        "The solution is one Python module, given whole in one Python code block. "
        "It defines `double`."
    )


def test_several_names_are_listed_and_none_is_made_up(stream: Write) -> None:
    several = {"test": "from solution import Shelf, ShelfFull"}
    none = {"test": "import solution", "test_info": None}
    first, second = KodCodeBenchmark(stream(several, none)).tasks()
    assert first.text.endswith("one Python code block. It defines `Shelf`, `ShelfFull`.")
    assert second.text.endswith("given whole in one Python code block.")


def test_a_record_without_a_subset_has_the_benchmark_for_its_domain(stream: Write) -> None:
    assert KodCodeBenchmark(stream({"subset": None})).tasks()[0].domain == "kodcode"


def test_the_own_solution_of_a_record_is_not_even_read(stream: Write) -> None:
    assert "2 * number" not in json.dumps(dict(KodCodeBenchmark(stream()).tasks()[0].data))


def test_the_shipped_stream_is_played_whole_and_in_its_order() -> None:
    opened = open_benchmark("kodcode", {})
    assert [task.id for task in opened.tasks()] == [f"demo-{n:02}" for n in range(1, 41)]
    assert opened.facts["source"] == "demo"
    assert opened.facts["manifest"]["order"] == {"rule": "sequential", "start": 0}
    assert opened.protocol == "kodcode"


def test_a_share_is_drawn_by_its_seed_and_prefix_stable(stream: Write) -> None:
    path = stream(*[{}] * 50)

    def ids(**options: Any) -> list[str]:
        return [task.id for task in KodCodeBenchmark(path, **options).tasks()]

    fifth = ids(share=0.2)
    assert len(fifth) == len(set(fifth)) == 10
    assert ids(share=0.1) == fifth[:5]
    assert ids(share=0.2, seed=1) != fifth
    assert sorted(ids(share=1.0)) == sorted(ids())


def test_the_published_stream_is_a_fifth(monkeypatch: pytest.MonkeyPatch, stream: Write) -> None:
    monkeypatch.setattr(benchmark, "PUBLISHED", str(stream(*[{}] * 50)))
    opened = KodCodeBenchmark("hub")
    assert len(opened.tasks()) == 10
    assert opened.facts["manifest"]["order"]["share"] == 0.2
    assert len(KodCodeBenchmark("hub", share=1.0).tasks()) == 50


def test_a_kept_manifest_gives_the_same_stream(stream: Write, tmp_path: Path) -> None:
    path = stream(*[{}] * 20)
    drawn = KodCodeBenchmark(path, share=0.5, seed=3)
    write_manifest(drawn.manifest, tmp_path / "manifest.json")
    again = KodCodeBenchmark(path, manifest=tmp_path / "manifest.json")
    assert again.tasks() == drawn.tasks()
    assert again.facts == drawn.facts
    with pytest.raises(BadInput, match="share and manifest both say"):
        KodCodeBenchmark(path, share=0.5, manifest=tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("options", "change"),
    [
        (
            {},
            {"test": "from solution import double\n\n\ndef test_it():\n    assert not double(0)\n"},
        ),
        ({}, {"question": "Another question."}),
        ({"cpu_seconds": 3}, {}),
        ({"memory_mib": 300}, {}),
        ({"share": 1.0}, {}),
    ],
)
def test_whatever_decides_a_score_is_in_the_facts(
    stream: Write, options: Mapping[str, Any], change: Mapping[str, Any]
) -> None:
    before = KodCodeBenchmark(stream()).facts
    after = KodCodeBenchmark(stream(change), **options).facts
    assert before == KodCodeBenchmark(stream()).facts
    assert before != after
    assert json.loads(json.dumps(after)) == after


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 7}, "source is 7; give demo, hub, hf:OWNER/NAME or a path"),
        ({"source": ""}, "source is ''; give demo, hub"),
        ({"share": 0}, "share is 0; give a number above 0"),
        ({"seed": "x"}, "seed is 'x'; give a whole number of at least 0"),
        ({"cpu_seconds": 0}, "cpu_seconds is 0; give a whole number of at least 1"),
        ({"memory_mib": True}, "memory_mib is True; give a whole number of at least 64"),
        ({"sandbox": "docker"}, "isolation 'docker' is unknown"),
        ({"depth": 1}, r"unknown option 'depth'; known: source, share, seed"),
    ],
)
def test_an_unusable_option_is_named(options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        open_benchmark("kodcode", options)


def test_a_machine_without_a_sandbox_is_told_when_the_benchmark_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(isolation: str) -> None:
        raise Infrastructure(f"sandbox: no {isolation} found")

    monkeypatch.setattr(benchmark, "open_way", missing)
    with pytest.raises(Infrastructure, match="no bubblewrap found"):
        open_benchmark("kodcode", {})


# -- one episode -------------------------------------------------------------------------------


def test_a_solution_that_passes_everything_scores_one(stream: Write) -> None:
    observation, outcome = play(stream(), fenced(GOOD))
    assert observation == "The solution was taken."
    assert outcome.score == 1.0
    assert outcome.metrics == {"tests": 1.0, "passed": 1.0, "fraction": 1.0}
    assert outcome.grading["verdict"] == "pass"
    assert set(outcome.grading) == {"oracle", "isolation", "verdict", "reason"}


def test_the_score_is_all_or_nothing_and_the_share_beside_it(stream: Write) -> None:
    test = (
        "from solution import double\n\n\n"
        "def test_zero():\n    assert double(0) == 0\n\n\n"
        "def test_four():\n    assert double(4) == 8\n"
    )
    observation, outcome = play(stream({"test": test}), fenced(BAD))
    assert observation == "The solution was taken."
    assert outcome.score == 0.0
    assert outcome.metrics == {"tests": 2.0, "passed": 1.0, "fraction": 0.5}
    assert outcome.grading["verdict"] == "fail"


def test_a_reply_without_a_program_is_not_run(stream: Write) -> None:
    observation, outcome = play(stream(), "I agree with my colleague.")
    assert observation == "No Python code block was found."
    assert outcome.score == 0.0
    assert outcome.grading == {"verdict": "fail", "reason": "no code"}


@pytest.mark.parametrize(
    "test",
    [
        "def test_it():\n    assert True",
        "from solution import double\nassert double(4) == 8",
        "from solution import double\n\n\ndef test_it(:\n",
        "from solution import double\nimport no_such_module\n\n\ndef test_it():\n    pass",
    ],
)
def test_tests_that_cannot_judge_are_an_error_never_a_pass(stream: Write, test: str) -> None:
    _, outcome = play(stream({"test": test}), fenced(GOOD))
    assert outcome.score == 0.0
    assert outcome.grading["verdict"] == "error"
    assert outcome.grading["reason"]


def test_an_episode_takes_one_solution(stream: Write) -> None:
    opened = KodCodeBenchmark(stream())
    episode = opened.environment(opened.tasks()[0])
    assert not episode.done
    assert episode.outcome().score == 0.0
    episode.step("nothing")
    with pytest.raises(RuntimeError, match="it was given already"):
        episode.step(fenced(GOOD))


# -- what stays hidden -------------------------------------------------------------------------

MARK = "zyxomma"
SECRET = (
    "from solution import double\n\n\n"
    f"def test_{MARK}():\n"
    f'    assert double(4) == "{MARK}", "{MARK}"\n\n\n'
    f"def test_raises():\n    raise RuntimeError('{MARK}')\n"
)
CURIOUS = """\
import sys
import traceback


def double(number):
    frame = sys._getframe()
    seen = []
    while frame is not None:
        seen.append(repr(frame.f_code.co_names) + repr(frame.f_code.co_consts))
        frame = frame.f_back
    print(seen)
    traceback.print_stack()
    raise ValueError("".join(seen))
"""


@pytest.mark.parametrize("code", [GOOD, CURIOUS, "def double(number:\n", "raise SystemExit"])
def test_an_episode_tells_nothing_of_its_tests(
    stream: Write, code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    opened = KodCodeBenchmark(stream({"test": SECRET}))
    task = opened.tasks()[0]
    episode = opened.environment(task)
    told = [task.text, str(episode.view()), episode.step(fenced(code)), str(episode.view())]
    outcome = episode.outcome()
    assert outcome.grading["verdict"] == "fail"
    told += [*outcome.grading.values(), *capfd.readouterr()]
    assert MARK not in "".join(told)
    assert MARK in str(task.data["test"])


def test_a_whole_run_keeps_the_tests_out_of_every_prompt_and_of_its_log(
    stream: Write, tmp_path: Path
) -> None:
    rule = {"reason": "r", "store": True, "rule": "Double it.", "use_when": ["a"], "avoid_when": []}
    model = ScriptedModel(
        answer=lambda _, prompt: fenced(CURIOUS if "again" in prompt else GOOD),
        decisions={"extraction": {**rule, "avoid_when": ["never"]}},
    )
    table = {
        "benchmark": {
            "name": "kodcode",
            "source": str(stream({"test": SECRET}, {"test": SECRET, "question": "Do it again."})),
        },
        "model": {"name": "scripted"},
        "embedder": {"name": "bag"},
        "method": {"theta": -1.0},
    }
    world = open_world(parse_config(table, "test"), model=model, embedder=BagEmbedder())
    path = tmp_path / "run.db"
    start(path, world)
    held = io.BytesIO()
    with EventLog.open(path) as log:
        export(log, held)
        finished = [
            recorded.event
            for recorded in log.read()
            if isinstance(recorded.event, ev.ExecutionFinished)
        ]
    assert len(finished) >= 2
    assert {event.score for event in finished} == {0.0}
    assert {event.grading["verdict"] for event in finished} == {"fail"}
    assert model.asked("extraction")
    assert MARK not in str(model.prompts)
    assert MARK.encode() not in held.getvalue()
