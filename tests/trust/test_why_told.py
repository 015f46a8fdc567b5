"""`why` reads well: whole lives as they are printed, in part, on a terminal, of hostile texts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from endpoint import Endpoint, Response
from lively import admitted, quick_folder, record, rich_seed
from scenario import Scenario, defect, edit, play, rule, same_as, scope
from scripted import BagEmbedder, ScriptedModel, scripted_world, select_all
from terminals import terminal
from turned import repaired_once

from discernmem.cli import main, telling
from discernmem.cli.widths import columns_of
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.projections.tallies import tallies
from discernmem.replayers.config import Config, parse_config
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.session import start
from discernmem.replayers.world import World, open_world


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(each) for each in arguments])
    return capsys.readouterr().out


# -- whole -------------------------------------------------------------------------------------


SCENARIO = repaired_once(edit("herbs"), edit("full list"))
"""A rule that is repaired; of its two candidates one harms where the rule had helped."""


@pytest.fixture(scope="module")
def repaired(folder: Path) -> Path:
    return play(SCENARIO, folder / "repaired").path


def forked(origin: Path, at: int, name: str) -> Path:
    """A log that goes on from a task of a recorded scenario, and stops there."""
    path = origin.with_name(name)
    with contextlib.chdir(origin.parent):
        world = scripted_world(Path("stream.jsonl"), SCENARIO.model())

        def open_(config: Config, *_: object) -> World:
            return attrs.evolve(world, config=config)

        fork(
            Branch(origin=origin, at=at, changed={"method.rounds": 1}), path, open_=open_, until=at
        )
    return path


HEAD = """\
m1 · user_proxy · provisional · version 2 · from q1
life: provisional t1 → v2 provisional t4
tally: supplied 2 · positive 1 · neutral 0 · negative 1 · mean effect -0.12 · CONTENT 1 · SCOPE 0 \
· revisions 1 · use conditions 1 · avoid conditions 0 · transitions 0
rule: say the herbs
use when: a jar is named  (by extraction) [13]
"""
SAID = '{"reason": "", "use": true, "avoid": false, "boundary": ""}'
EDITS = json.dumps({"reason": "", "edits": [edit("herbs"), edit("full list")]})
WHOLE = f"""\
{HEAD}
task 1 q1
  · team ran on q1 with no memory: 0.50  [7]
  · q1 scored 0.50 with no memory  [8]
  · user_proxy proposed the rule “say the first herb”  [12]
  └─ m1 admitted for user_proxy from q1: “say the first herb”  [13]

task 2 q2
  · retrieval for user_proxy: m1 (0.26)  [22]
  · selector picked m1 for user_proxy  [24]
  └─ m1.v1 supplied to user_proxy on q2 (similarity 0.26)  [25]
     └─ effect +0.25 (positive) on q2: 0.75 with, 0.50 without  [31]
        │  rests on: team ran on q2 with m1.v1: 0.75  [27]
        │  rests on: team ran on q2 with no memory: 0.50  [30]
        └─ scope check: use conditions met, avoid conditions not met  [33]
           │  the model said: {SAID}  [32]
           └─ label NONE: no harm and no avoid condition matched  [34]
              └─ effect +0.25 (positive, NONE) on q2 recorded for m1.v1 (reuse)  [35]

task 4 q4
  · retrieval for user_proxy: m1 (0.26)  [64]
  · selector picked m1 for user_proxy  [66]
  └─ m1.v1 supplied to user_proxy on q4 (similarity 0.26)  [67]
     └─ effect -0.50 (negative) on q4: 0.00 with, 0.50 without  [73]
        │  rests on: team ran on q4 with m1.v1: 0.00  [69]
        │  rests on: team ran on q4 with no memory: 0.50  [72]
        └─ scope check: use conditions met, avoid conditions not met  [75]
           │  the model said: {SAID}  [74]
           └─ diagnosis: missing_step, “it skips a herb” citing with:s2: supported  [77]
              │  the model said: {json.dumps(defect())}  [76]
              └─ label CONTENT: harm in scope with a supported defect  [78]
                 ├─ effect -0.50 (negative, CONTENT) on q4 recorded for m1.v1 (reuse)  [79]
                 └─ repair of m1.v1 after reuse on q4, judged also on retention q2; related q3  [84]
                    │  rests on: team ran on q4 with m1.v1: 0.00  [69]
                    │  rests on: team ran on q4 with no memory: 0.50  [72]
                    │  rests on: team ran on q2 with m1.v1: 0.75  [27]
                    │  rests on: team ran on q2 with no memory: 0.50  [30]
                    │  rests on: team ran on q3 with m1.v1: 0.50  [83]
                    │  rests on: team ran on q3 with no memory: 0.50  [51]
                    └─ round 1: 2 edits proposed  [86]
                       │  the model said: {EDITS}  [85]
                       ├─ candidate 1.1: REPLACE at “first herb” with “herbs”  [87]
                       │  │  becomes: say the [-first herb-]{{+herbs+}}
                       │  └─ accepted, improving  [94]
                       │     │    task  purpose    candidate  parent  none  over parent  over none
                       │     │    q4    trigger         1.00    0.00  0.50        +1.00      +0.50
                       │     │    q2    retention       0.75    0.75  0.50        +0.00      +0.25
                       │     │    q3    related         0.50    0.50  0.50        +0.00      +0.00
                       │     │  rests on: team ran on q4 with m1.v1: 1.00  [89]
                       │     │  rests on: team ran on q2 with m1.v1: 0.75  [91]
                       │     │  rests on: team ran on q3 with m1.v1: 0.50  [93]
                       │     └─ version 2 committed  [103]
                       │        │  becomes: say the [-first herb-]{{+herbs+}}
                       │        └─ repair committed after 1 round  [104]
                       └─ candidate 1.2: REPLACE at “first herb” with “full list”  [95]
                          │  becomes: say the [-first herb-]{{+full list+}}
                          └─ rejected by q2: scores below the parent  [102]
                                  task  purpose    candidate  parent  none  over parent  over none
                                  q4    trigger         1.00    0.00  0.50        +1.00      +0.50
                                  q2    retention       0.25    0.75  0.50        -0.50      -0.25 \
 rejects
                                  q3    related         0.50    0.50  0.50        +0.00      +0.00
                                rests on: team ran on q4 with m1.v1: 1.00  [97]
                                rests on: team ran on q2 with m1.v1: 0.25  [99]
                                rests on: team ran on q3 with m1.v1: 0.50  [101]
"""


def test_a_repaired_life_is_told_from_its_first_task_to_the_candidates(
    repaired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "why", "m1", repaired) == WHOLE


def test_a_part_of_a_life_says_what_it_leaves_out(
    repaired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        said(capsys, "why", "m1", repaired, "--since", 3, "--depth", 1)
        == f"""\
{HEAD}
… 6 events before that left out

task 4 q4
  · retrieval for user_proxy: m1 (0.26)  [64]
  · selector picked m1 for user_proxy  [66]
  └─ m1.v1 supplied to user_proxy on q4 (similarity 0.26)  [67]
     └─ effect -0.50 (negative) on q4: 0.00 with, 0.50 without  [73]
        │  rests on: team ran on q4 with m1.v1: 0.00  [69]
        │  rests on: team ran on q4 with no memory: 0.50  [72]
        └─ … 12 events left out

… 12 events further down left out
"""
    )


def test_a_fork_and_a_decision_are_told_between_the_tasks(
    repaired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = forked(repaired, 2, "fork.db")
    said(capsys, "override", "retire", "m1", log, "--reason", "no use", "--by", "ada")
    with EventLog.open(log) as opened, EventLog.open(repaired) as origin:
        (fork_,) = opened.read(types=("RunForked",))
        at, whence = fork_.position, origin.log_id[:12]
    text = said(capsys, "why", "m1", log)
    assert text.splitlines()[1] == "life: provisional t1 → inactive t2"
    _, end = text.split("\nafter task 2\n")
    assert end.splitlines() == [
        f"  · forked from log {whence} after its event {at - 1}, with method.rounds = 1  [{at}]",
        f"  └─ m1.v1 retired by ada: “no use”  [{at + 1}]",
        f"     └─ provisional → inactive by rule 'override'  [{at + 2}]",
    ]
    told = json.loads(said(capsys, "why", "m1", log, "--json"))
    assert [(each["position"], each["type"]) for each in told["forks"]] == [(at, "RunForked")]


def test_a_conclusion_from_many_effects_lists_the_newest_and_counts_the_older(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Uses that change what is said and never the score retire a rule as ineffective."""
    scenario = Scenario(tasks=8, learn={"q1": rule("say it")}, chatty=("say it",))
    log = play(attrs.evolve(scenario, method={"n1": 0}), folder / "chatty").path
    with EventLog.open(log) as opened:
        (changed,) = opened.read(types=("StateChanged",))
        recorded = list(opened.read(until=changed.position, types=("EffectRecorded",)))
    listed = [
        f"{r.event.task} +0.00 [{r.position}]"
        for r in recorded
        if isinstance(r.event, ev.EffectRecorded)
    ]
    assert len(listed) > 3
    line = f"rests on {len(listed)} recorded effects: {', '.join(listed)}\n"
    assert said(capsys, "why", "m1", log).endswith(
        f"provisional → inactive by rule 'ineffectiveness'  [{changed.position}]\n{' ' * 23}{line}"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "LISTED", 3)
        line = f"{len(listed) - 2} from [{recorded[0].position}] on, then {', '.join(listed[-2:])}"
        assert f"rests on {len(listed)} recorded effects: {line}\n" in said(
            capsys, "why", "m1", log
        )


def test_an_execution_that_is_evidence_as_well_is_told_among_what_led_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run without memory of a task is the scored one and what an attachment rests on."""
    learned = {task: rule("say the first herb") for task in ("q1", "q2")}
    scenario = Scenario(tasks=2, learn=learned, supply=(), decisions={"identity": same_as("m1")})
    text = said(capsys, "why", "m1", play(scenario, folder / "attached").path)
    _, second = text.split("\ntask 2 q2\n")
    assert re.sub(r" +\[\d+\]", "", second).startswith(
        """\
  · team ran on q2 with no memory: 0.50
  · q2 scored 0.50 with no memory
  · user_proxy proposed the rule “say the first herb”
  · judged the same as m1 among m1 (1.00)
  └─ experience of q2 attached: “say the first herb”
     └─ effect +0.00 (neutral) on q2: 0.50 with, 0.50 without, the runs were the same
        │  rests on: team ran on q2 with m1.v1: 0.50
        │  rests on: team ran on q2 with no memory: 0.50
"""
    )


# -- in part -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rich(folder: Path) -> Path:
    return record(folder / "rich", rich_seed())


def nodes(life: Any) -> Iterator[Any]:
    for node in life:
        yield node
        yield from nodes(node["caused"])


def names(log: Path) -> list[str]:
    with EventLog.open(log) as opened:
        return admitted(opened)


@pytest.mark.parametrize("version", [None, 1])
@pytest.mark.parametrize("depth", [None, 0, 1, 3, 50])
@pytest.mark.parametrize("since", [None, 1, 5, 9])
def test_what_is_shown_and_what_is_left_out_are_all(
    rich: Path,
    since: int | None,
    depth: int | None,
    version: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"--since": since, "--depth": depth}
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    of_version = [] if version is None else ["--version", version]
    for name in names(rich):
        whole = json.loads(said(capsys, "why", name, rich, *of_version, "--json"))
        told = json.loads(said(capsys, "why", name, rich, *of_version, *options, "--json"))
        everything = {node["position"]: node for node in nodes(whole["life"])}
        shown = {node["position"]: node for node in nodes(told["life"])}
        left = told["left_out"]
        assert whole["left_out"] == {"earlier": 0, "deeper": 0}
        assert len(shown) + left["earlier"] + left["deeper"] == len(everything)
        assert sum(node["left_out"] for node in shown.values()) == left["deeper"]
        begun = since or 0
        assert left["earlier"] == sum(n["task_index"] < begun for n in everything.values())
        assert all(node["task_index"] >= begun for node in shown.values())
        assert all(everything[at]["event"] == node["event"] for at, node in shown.items())
        assert (told["tally"], told["memory"]) == (whole["tally"], whole["memory"])
        text = said(capsys, "why", name, rich, *of_version, *options)
        lines = re.findall(r"[├└]─ .*\[(\d+)\]\n", text)
        assert sorted(map(int, lines)) == sorted(shown)
        parts = [int(n) for n in re.findall(r"└─ … (\d+) events? left out\n", text)]
        assert sum(parts) == left["deeper"]
        assert (f"… {left['earlier']} event" in text) == bool(left["earlier"])
        assert (f"… {left['deeper']} event" in text) == bool(left["deeper"])


def test_where_nothing_happened_since_that_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = play(Scenario(tasks=2, learn={"q1": rule("say it")}, supply=()), folder / "idle").path
    text = said(capsys, "why", "m1", log, "--since", 2)
    assert text.endswith("\n\n… 1 event before that left out\nnothing since then\n")
    assert "nothing since" not in said(capsys, "why", "m1", log, "--since", 1)


@pytest.mark.parametrize("depth", range(4))
def test_as_many_levels_are_shown_as_were_asked_for(
    rich: Path, depth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def levels(node: Any) -> int:
        return 1 + max(map(levels, node["caused"]), default=-1)

    for name in names(rich):
        told = json.loads(said(capsys, "why", name, rich, "--depth", depth, "--json"))
        assert max(map(levels, told["life"])) <= depth


# -- numbers -----------------------------------------------------------------------------------

NUMBERS = {
    "supplied": "supplied",
    "positive": "positive",
    "neutral": "neutral",
    "negative": "negative",
    "mean effect": "mean_effect",
    "CONTENT": "content",
    "SCOPE": "scope",
    "revisions": "revisions",
    "use conditions": "use_conditions",
    "avoid conditions": "avoid_conditions",
    "transitions": "transitions",
}


def numbers(line: str) -> dict[str, str]:
    return {name: value for name, _, value in (p.rpartition(" ") for p in line.split(" · "))}


def test_why_and_the_store_show_the_numbers_of_the_tally(
    rich: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = said(capsys, "store", rich).split("\n\n")[1:]
    with EventLog.open(rich) as log:
        tallied = {tally.memory: tally for tally in tallies(log)}
    for name, entry in zip(names(rich), store, strict=True):
        counted = attrs.asdict(tallied[name])
        lines = said(capsys, "why", name, rich).splitlines()
        shown = numbers(lines[2].removeprefix("tally: "))
        assert shown.keys() == NUMBERS.keys()
        mean = counted["mean_effect"]
        for label, field in NUMBERS.items():
            value = counted[field]
            if field == "mean_effect":
                value = "\N{EN DASH}" if mean is None else f"{mean:+.2f}"
            assert shown[label] == str(value), (name, label)
        heading, effects, *_ = entry.splitlines()
        assert heading == lines[0]
        assert numbers(effects.strip()).items() <= shown.items()
        assert json.loads(said(capsys, "why", name, rich, "--json"))["tally"] == counted


# -- searches ----------------------------------------------------------------------------------


def found(body: dict[str, Any]) -> Response:
    contents = f'"The Gate"\nA passage on {body["queries"][0]}'
    return 200, {"result": [[{"document": {"contents": contents}, "score": 1.0}]]}


def looks_it_up(role: str, prompt: str) -> str:
    if role == "assistant" and "</information>" not in prompt:
        return f"<search>{prompt.splitlines()[0][:20]}</search>"
    return "<answer>ninety</answer>"


def test_what_a_team_searched_for_is_told_under_the_run_in_which_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = {
        "reason": "",
        "store": True,
        "rule": "Answer in words",
        "use_when": ["a number is asked for"],
        "avoid_when": [],
    }
    model = ScriptedModel(looks_it_up, {"extraction": learned, "selection": select_all})
    with Endpoint(answer=found) as service:
        table = {
            "benchmark": {"name": "triviaqa", "retriever": service.url.removesuffix("/v1")},
            "model": {"name": "scripted"},
            "embedder": {"name": "bag"},
            "method": {"theta": -1.0},
            "tasks": 2,
        }
        log = tmp_path / "run.db"
        start(log, open_world(parse_config(table, "test"), model=model, embedder=BagEmbedder()))
    told = json.loads(said(capsys, "why", "m1", log, "--json"))
    text = said(capsys, "why", "m1", log)
    with EventLog.open(log) as opened:
        searches = {r.position: r for r in opened.read(types=("PassagesFound",))}
        runs = {r.position for r in opened.read(types=("ExecutionFinished",))}
    assert searches
    assert {each["execution"] for each in told["searches"]} <= runs
    for each in told["searches"]:
        (search,) = each["found"]
        assert search["titles"] == ["The Gate"]
        query = searches[search["position"]].event.query  # type: ignore[attr-defined]
        run, below = re.findall(rf".*\[{each['execution']}\]\n.*\n", text)[0].splitlines()
        assert "team ran on " in run
        assert below.strip(" │") == (
            f"searched for “{query}” and found The Gate  [{search['position']}]"
        )


# -- on a terminal -----------------------------------------------------------------------------


def on_a_terminal(*arguments: str, width: int = 60, **variables: str) -> str:
    """What the command prints on a terminal of so many columns."""
    unset = dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "COLUMNS"), "")
    environment = {**unset, "TERM": "xterm", **variables}
    with terminal(*arguments, columns=width, environment=environment) as shown:
        assert shown.ended() == 0, shown.raw
    return shown.raw.replace("\r\n", "\n")


COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_on_a_terminal_there_are_colours_and_no_line_is_too_long(repaired: Path) -> None:
    for command in ("why", "blame"):
        painted = on_a_terminal(command, "m1", str(repaired), width=90)
        assert "\x1b[" in painted
        assert "[-" not in painted
        plain = on_a_terminal(command, "m1", str(repaired), width=90, NO_COLOR="1")
        assert "\x1b" not in plain
        for line in plain.splitlines():
            assert columns_of(line) <= 90, line
    assert "say the [-first herb-]{+herbs+}" in on_a_terminal(
        "why", "m1", str(repaired), NO_COLOR="1", width=200
    )
    dumb = on_a_terminal("why", "m1", str(repaired), TERM="dumb")
    assert "\x1b" not in dumb


def test_what_does_not_fit_hangs_under_its_place_in_the_tree(repaired: Path) -> None:
    plain = on_a_terminal("why", "m1", str(repaired), width=60, NO_COLOR="1").splitlines()
    at = plain.index("     └─ effect +0.25 (positive) on q2: 0.75 with, 0.50")
    assert plain[at : at + 2] == [
        "     └─ effect +0.25 (positive) on q2: 0.75 with, 0.50",
        "        │  without  [31]",
    ]
    assert plain[2:5] == [
        "tally: supplied 2 · positive 1 · neutral 0 · negative 1 ·",
        "       mean effect -0.12 · CONTENT 1 · SCOPE 0 · revisions 1",
        "       · use conditions 1 · avoid conditions 0 · transitions",
    ]


def test_elsewhere_there_are_colours_only_if_forced_and_no_line_is_broken(repaired: Path) -> None:
    def piped(**variables: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "discernmem.cli", "why", "m1", str(repaired)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "40", "TERM": "xterm", **variables},
        )
        return done.stdout

    assert piped(FORCE_COLOR="", NO_COLOR="") == WHOLE
    assert piped(FORCE_COLOR="1", NO_COLOR="1") == WHOLE
    forced = piped(FORCE_COLOR="1", NO_COLOR="")
    assert "\x1b[" in forced
    assert len(COLOUR.sub("", forced).splitlines()) == len(WHOLE.splitlines())


# -- hostile texts -----------------------------------------------------------------------------

EVIL = (
    "say\x1b[2J \x1b]0;owned\x07 the\x9b1m \u202efirst\u2066 \u200bherb "
    "\U000e0041\x7f\r\ntwice\u2028\rnow"
)


def evil_log(folder: Path, text: str) -> Path:
    """A run in which a model and then a person say ``text`` wherever they may."""
    scenario = Scenario(
        tasks=2,
        learn={"q1": rule(text, use=(f"when {text}",), avoid=(f"not {text}",))},
        decisions={"scope check": scope(boundary=f"only {text}")},
    )
    origin = play(scenario, folder).path
    log = forked(origin, 1, "evil.db")
    for action, more in (
        ("edit", [f"{text} again"]),
        ("add-avoid", [f"never {text}"]),
        ("withdraw-condition", [f"never {text}"]),
    ):
        main(["override", action, "m1", str(log), "--text", *more, "--reason", text, "--by", text])
    return log


@pytest.mark.parametrize(
    "arguments",
    [
        ["store", "LOG"],
        ["diff", "ORIGIN", "--from", "0", "--to", "2"],
        ["log", "LOG"],
        ["log", "ORIGIN"],
        ["compare", "ORIGIN", "LOG"],
        ["why", "m1", "LOG"],
        ["why", "m1", "ORIGIN"],
        ["blame", "m1", "LOG"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_no_text_moves_the_cursor_or_breaks_a_line(
    arguments: list[str], evil: Path, tame: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(log: Path) -> str:
        paths = {"LOG": str(log), "ORIGIN": str(log.with_name("run.db"))}
        return said(capsys, *[paths.get(each, each) for each in arguments])

    text = told(evil)
    unseen = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert unseen == set()
    assert "\\x1b[2J" in text
    assert len(text.splitlines()) == len(told(tame).splitlines())


@pytest.fixture(scope="module")
def evil(folder: Path) -> Path:
    return evil_log(folder / "evil", EVIL)


@pytest.fixture(scope="module")
def tame(folder: Path) -> Path:
    return evil_log(folder / "tame", "say the first herb twice")
