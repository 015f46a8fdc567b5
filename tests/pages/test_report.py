"""The report of one run: it stands alone, says what the log says, and reads well when empty."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from html5lib.html5parser import ParseError
from lively import lively_world, quick_folder, record, record_with_fork, rich_seed
from report_pages import HTML, SVG, Report, reported
from scenario import Scenario, play
from site_logs import HOSTILE, SHOWN, admit
from turned import HARD, SCENARIOS, told

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.pages.report import figures_of
from discernmem.pages.report.roster import roster, worth_telling
from discernmem.projections.story import story
from discernmem.projections.tallies import tallies
from discernmem.replayers.demo import open_recorded
from discernmem.replayers.session import start


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def example() -> Iterator[Path]:
    with quick_folder() as folder:
        yield open_recorded(folder)


@pytest.fixture(scope="module")
def rich() -> Iterator[Path]:
    with quick_folder() as folder:
        yield record(folder, rich_seed())


# -- one file, the same every time -------------------------------------------------------------


@pytest.mark.parametrize("name", ["example", "rich"])
def test_a_report_is_one_valid_file_that_needs_nothing_else(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    found = reported(request.getfixturevalue(name), tmp_path)
    (policy,) = (m for m in found.root.iter(f"{HTML}meta") if m.get("http-equiv"))
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"
    pictures = list(found.root.iter(f"{SVG}svg"))
    assert pictures
    outer = [each for each in pictures if each.get("role")]
    assert all(each.find(f"{SVG}title") is not None for each in outer)
    assert "svg xmlns" not in found.html


def test_the_same_log_gives_the_same_bytes(example: Path, tmp_path: Path) -> None:
    """Whenever, wherever and by whichever process it is made, and whatever its folder is called."""
    made = []
    for seed, folder in (("0", "here"), ("1", "somewhere else")):
        place = tmp_path / folder
        place.mkdir()
        log = shutil.copy(example, place)
        subprocess.run(
            [sys.executable, "-m", "discernmem.cli", "report", str(log)],
            cwd=place,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC{seed}"},
            check=True,
            capture_output=True,
        )
        made.append((place / "report.html").read_bytes())
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


def test_no_path_and_no_time_is_in_it(rich: Path, tmp_path: Path) -> None:
    found = reported(rich, tmp_path)
    assert str(rich.parent) not in found.html
    assert str(Path.home()) not in found.html
    with EventLog.open(rich) as log:
        times = {recorded.recorded_at[:10] for recorded in log.read()}
    assert not any(day in found.html for day in times)
    # The configuration names the file of the stream, whose folder is nobody's business.
    assert "…/stream.jsonl" in found.said("run")


# -- what it says is what the log says ---------------------------------------------------------


def test_the_header_says_what_ran(example: Path, tmp_path: Path) -> None:
    said = reported(example, tmp_path).said("run")
    with EventLog.open(example) as log:
        head, header = log.head(), log.at(1).event  # type: ignore[union-attr]
    assert isinstance(header, ev.RunStarted)
    assert "20 of 20 tasks done, the run is finished." in said
    for part in (head.hash, header.model["name"], header.model["device"], "reading", "autogen"):
        assert part in said
    assert f"event {head.position}" in said
    for name, value in header.config["method"].items():
        assert re.search(rf"method\.{name} {value}(?![\d.])", said) or value == [], name


def test_every_memory_is_listed_with_its_numbers_and_its_rule(rich: Path, tmp_path: Path) -> None:
    found = reported(rich, tmp_path)
    with EventLog.open(rich) as log:
        numbers = {tally.memory: tally for tally in tallies(log)}
        rules = {name: story(log, name).memory.body for name in numbers}
    assert list(found.rows) == list(numbers)
    for name, row in found.rows.items():
        shown = {each.get("data-number"): each.get("value") for each in row.iter(f"{HTML}data")}
        assert len(shown) == 9
        for key, value in shown.items():
            known = getattr(numbers[name], str(key))
            assert value == ("" if known is None else str(known))
        assert (row[-1].get("class"), row[-1].text) == ("rule", rules[name])
        (strip,) = row.iter(f"{SVG}svg")
        assert strip[0].text == f"life of {name}"


def test_each_revised_or_retired_memory_has_its_story(rich: Path, tmp_path: Path) -> None:
    found = reported(rich, tmp_path)
    turned: dict[str, set[int]] = {}
    with EventLog.open(rich) as log:
        for recorded in log.read(types=("MemoryRevised", "StateChanged")):
            event = recorded.event
            if isinstance(event, ev.MemoryRevised) or event.after == "inactive":  # type: ignore[attr-defined]
                turned.setdefault(event.memory, set()).add(recorded.position)  # type: ignore[attr-defined]
        turns = {name: {turn.position for turn in story(log, name).turns} for name in turned}
    assert found.stories.keys() == turned.keys()
    for name in turned:
        for position in turns[name]:
            assert f"turn-{position}" in found.ids
        assert f"#{name}" in {a.get("href") for a in found.rows[name].iter(f"{HTML}a")}
    for name in found.rows.keys() - turned:
        assert list(found.rows[name].iter(f"{HTML}a")) == []


def test_a_repair_is_told_with_its_words_its_runs_and_its_judges(tmp_path: Path) -> None:
    with told("committed") as log:
        found = reported(log.path, tmp_path)
        (turn,) = (turn for turn in story(log, "m1").turns if turn.revised)
    article = found.of(f"turn-{turn.position}")
    assert [each.text for each in article.iter(f"{HTML}del")][:1] == ["first herb"]
    assert [each.text for each in article.iter(f"{HTML}ins")][:1] == ["herbs"]
    steps = [each for each in article.iter(f"{HTML}li") if "step" in str(each.get("class"))]
    cited = [each for each in steps if "cited" in str(each.get("class"))]
    assert len(cited) == len(turn.use.cited) == 2  # type: ignore[union-attr]
    said = found.said(f"turn-{turn.position}")
    for judge in turn.repair.judges:  # type: ignore[union-attr]
        assert judge.task in said
    assert "new version" in said


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "hard"])
def test_every_kind_of_turn_can_be_reported(name: str, tmp_path: Path) -> None:
    with told(name) as log:
        found = reported(log.path, tmp_path)
        turned = bool(story(log, "m1").turns) and name not in ("promotion", "kept")
    assert ("m1" in found.stories) == turned


def test_the_scores_and_costs_shown_are_those_of_the_figures(rich: Path, tmp_path: Path) -> None:
    with EventLog.open(rich) as log:
        figures = figures_of(log, "run.db")
    found = reported(rich, tmp_path)
    scores, cost = figures.scores, figures.ledger
    assert scores.mean is not None
    assert scores.gain is not None
    said = found.said("score")
    assert f"{scores.mean.mean:.3f} mean score of {scores.tasks} tasks" in said
    assert f"{scores.gain.mean:+.3f} gained by memory, 95 % interval" in said
    assert f"{scores.helped} / {scores.hurt} tasks scored more" in said
    said = found.said("cost")
    assert f"{cost.run} executions of the team made {cost.saved} saved of the {cost.asked}" in said
    for purpose in cost.purposes:
        name = "turns of the team" if purpose.name == "role" else purpose.name
        assert f"{name} {purpose.calls} {purpose.prompt_tokens}" in said


def test_every_figure_of_the_paper_is_there(rich: Path, tmp_path: Path) -> None:
    said = reported(rich, tmp_path).said("figures")
    assert re.findall(r"\((Fig\. \w+)\)", said) == [
        "Fig. 5",
        "Fig. 2",
        "Fig. 3a",
        "Fig. 3b",
        "Fig. 6",
        "Fig. 7",
        "Fig. 8",
    ]


# -- which stories are told --------------------------------------------------------------------


def test_fewer_stories_are_those_with_the_most_events_and_the_rest_is_named(
    rich: Path, tmp_path: Path
) -> None:
    with EventLog.open(rich) as log:
        entries = roster(log, tasks=12, begun=12)
        sizes = {entry.memory.id: log.count(f"memory:{entry.memory.id}") for entry in entries}
    assert {entry.memory.id: entry.events for entry in entries} == sizes
    turned = [entry.memory.id for entry in entries if entry.turned]
    assert len(turned) > 2
    expected = sorted(turned, key=lambda name: (-sizes[name], int(name[1:])))[:2]
    found = reported(rich, tmp_path, "--stories", 2)
    assert list(found.stories) == sorted(expected, key=lambda name: int(name[1:]))
    said = found.said("stories")
    assert f"Told are the 2 with the most events of {len(turned)}" in said
    assert f"discernmem report run.db --stories {len(turned)}" in said
    assert [entry.memory.id for entry in worth_telling(entries, 99)] == turned
    none = reported(rich, tmp_path, "--stories", 0)
    assert none.stories == {}
    assert f"{len(turned)} memories were revised or retired; none is told here." in none.text


# -- texts out to break a page -----------------------------------------------------------------


def test_whatever_a_model_wrote_is_text(tmp_path: Path) -> None:
    with told("hard") as log:
        path = Path(shutil.copy(log.path, tmp_path / "<b>&'\" .db"))
    with EventLog.open(path, write=True) as log:
        for body in HOSTILE:
            admit(log, body, use_when=(body,), role=f"role {body[:20]}")
    found = reported(path, tmp_path)
    assert found.said("m1").count("<script>alert(1)</script>") > 1
    rules = [row[-1].text or "" for row in found.rows.values()]
    assert rules[0] == HARD.replace("first herb", "herbs")
    assert rules[-len(HOSTILE) :] == [SHOWN[body] for body in HOSTILE]
    assert "<b>&'\" .db" in found.text
    # The command to type next has the name as a shell wants it.
    assert """discernmem verify '<b>&'"'"'" .db'""" in found.text
    for row in found.rows.values():
        assert row[-1].get("dir") == "auto"


# -- runs with little in them ------------------------------------------------------------------


def test_a_run_before_its_first_task_says_so(tmp_path: Path) -> None:
    start(tmp_path / "run.db", lively_world(tmp_path, 1, tasks=5), until=0)
    found = reported(tmp_path / "run.db", tmp_path)
    assert "0 of 5 tasks done: the run is not finished. The team has learned no rule." in found.text
    assert "No task is scored yet." in found.said("score")
    assert "The model was not asked yet." in found.said("cost")
    assert "No memory was ever stored" in found.said("figures")
    assert "No memory was ever stored." in found.said("memories")
    assert "No memory was revised or retired so far." in found.said("stories")


def test_a_run_without_a_memory_says_so(tmp_path: Path) -> None:
    played = play(Scenario(tasks=2), tmp_path / "run")
    found = reported(played.path, tmp_path)
    assert "2 of 2 tasks done, the run is finished. The team has learned no rule." in found.text
    assert "No memory was revised or retired." in found.said("stories")
    assert "mean score of 2 tasks" in found.said("score")


def test_a_memory_that_was_never_used_leaves_figures_empty_in_words(tmp_path: Path) -> None:
    with told("promotion") as log:
        path = Path(shutil.copy(log.path, tmp_path / "run.db"))
    found = reported(path, tmp_path)
    assert "The team learned 1 rule." in found.text
    assert "No repair changed a rule." in found.said("figures")
    unused = play(Scenario(tasks=1, learn=SCENARIOS["promotion"].learn), tmp_path / "unused")
    said = reported(unused.path, tmp_path).said("figures")
    assert said.count("No memory was ever injected.") == 3


def test_an_unfinished_run_says_how_far_it_is(tmp_path: Path) -> None:
    start(tmp_path / "run.db", lively_world(tmp_path, rich_seed()), until=3)
    found = reported(tmp_path / "run.db", tmp_path)
    assert "3 of 12 tasks done: the run is not finished." in found.text
    assert "mean score of 3 tasks" in found.said("score")


def test_a_long_stream_that_only_began_says_why_it_has_no_pictures_yet(tmp_path: Path) -> None:
    start(tmp_path / "run.db", lively_world(tmp_path, rich_seed(), tasks=400), until=6)
    said = reported(tmp_path / "run.db", tmp_path).said("figures")
    assert "No memory was ever stored." not in said
    assert said.count("Too little of the stream is done to draw this.") == 2


def test_a_fork_says_where_it_is_from_but_not_the_folder(tmp_path: Path) -> None:
    origin, branch = record_with_fork(tmp_path)
    found = reported(branch, tmp_path)
    with EventLog.open(origin) as log:
        position, name = log.position_at_task(2), log.log_id
    said = found.said("run")
    assert f"From task 3 on this is a fork, of what the log {name[:12]}" in said
    assert f"was at event {position}, with method.k_inj 0." in said
    assert str(tmp_path) not in found.html


def test_a_report_is_parsed_strictly() -> None:
    """What these tests rely on."""
    with pytest.raises(ParseError, match="Unexpected end tag"):
        Report("<!doctype html><p>unclosed <b>bold</p>")
