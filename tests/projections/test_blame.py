"""Every phrase of a rule and every condition is put down to the event that put it there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lively import admitted, lively_world, quick_folder, rich_seed
from scenario import edit, play
from turned import repaired_once

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.projections.blame import blame, phrases
from discernmem.projections.timeline import completed_position, last_completed
from discernmem.projections.words import word_diff
from discernmem.replayers.session import start

BODIES = st.lists(
    st.lists(st.sampled_from(["cite", "the", "page", " ", "  ", "\n", ".", "twice"])).map("".join),
    min_size=1,
    max_size=5,
)


@given(BODIES)
def test_the_phrases_joined_are_the_rule_and_no_neighbours_are_of_one_version(
    bodies: Sequence[str],
) -> None:
    found = list(phrases(bodies))
    assert "".join(text for _, text in found) == bodies[-1]
    assert all(a != b for (a, _), (b, _) in pairwise(found))


@given(BODIES)
def test_a_phrase_is_in_its_version_and_was_not_yet_there_in_the_one_before(
    bodies: Sequence[str],
) -> None:
    for number, text in phrases(bodies):
        assert text in bodies[number - 1]
        if number > 1:
            new = [p.text for p in word_diff(bodies[number - 2], bodies[number - 1])]
            assert any(text in piece for piece in new)


@given(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=8), min_size=1, max_size=5))
def test_words_that_occur_once_in_a_rule_are_put_down_to_where_they_came_in_last(
    rules: list[list[int]],
) -> None:
    """In order, so that no word moves: what is in two rules next to each other has stayed."""
    bodies = ["".join(f"w{word} " for word in sorted(each)) for each in rules]
    for number, text in phrases(bodies):
        for word in text.split():
            has = [f"{word} " in body for body in bodies]
            assert all(has[number - 1 :])
            assert number == 1 or not has[number - 2]


# -- of a log ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decided() -> Iterator[Path]:
    """A rich run, stopped, in which a person then decided about every memory."""
    with quick_folder() as folder:
        log = folder / "run.db"
        start(log, lively_world(folder, rich_seed()), until=8)
        with EventLog.open(log) as opened:
            names = admitted(opened)
        for name in names:
            for action, text in (
                ("add-avoid", "the moon is full"),
                ("edit", f"Ask {name} before the question"),
                ("withdraw-condition", "the moon is full"),
                ("add-use", "a cat asks"),
            ):
                reason = ["--reason", "r", "--by", "ada"]
                main(["override", action, name, str(log), "--text", text, *reason])
        yield log


def test_each_line_names_an_event_of_the_memory_that_says_its_text(decided: Path) -> None:
    sources = set()
    with EventLog.open(decided) as log:
        for name in admitted(log):
            found = blame(log, name)
            assert "".join(line.text for line in found.phrases) == found.memory.body
            assert [line.text for line in found.conditions] == [
                *found.memory.use_texts,
                *found.memory.avoid_texts,
            ]
            for line in (*found.phrases, *found.conditions, *found.withdrawn):
                recorded = log.at(line.position)
                assert recorded is not None
                assert recorded.stream_id == f"memory:{name}"
                assert recorded.task_index == line.task_index
                assert line.text in json.dumps(json.loads(recorded.payload), ensure_ascii=False)
                sources.add((line.kind, line.source, line.by))
            assert [line.text for line in found.withdrawn] == ["the moon is full"]
    assert {
        ("rule", "override", "ada"),
        ("use_when", "extraction", ""),
        ("use_when", "override", "ada"),
        ("avoid_when", "override", "ada"),
    } <= sources


def test_after_any_task_it_says_what_it_said_then(decided: Path) -> None:
    with EventLog.open(decided) as log:
        last = last_completed(log)
        for task in range(1, last + 1):
            position = completed_position(log, task)
            for name in admitted(log, position):
                found = blame(log, name, at=task)
                assert "".join(line.text for line in found.phrases) == found.memory.body
                lines = (*found.phrases, *found.conditions)
                assert all(line.position <= position for line in lines)
                assert found.withdrawn == ()


@pytest.fixture
def repaired(tmp_path: Path) -> Path:
    """A rule whose two last words a repair replaced by one."""
    return play(repaired_once(edit("herbs")), tmp_path / "run").path


def test_a_repair_a_person_and_an_extraction_are_told_apart_in_columns(
    repaired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["blame", "m1", str(repaired)])
    assert capsys.readouterr().out == (
        "m1 · user_proxy · provisional · version 2 · from q1\n"
        "[13]  t1  v1  extraction             rule      say the\n"
        "[95]  t4  v2  repair, candidate 1.1  rule      herbs\n"
        "[13]  t1  v1  extraction             use when  a jar is named\n"
    )
    main(["blame", "m1", str(repaired), "--at", "3"])
    assert capsys.readouterr().out == (
        "m1 · user_proxy · provisional · version 1 · from q1\n"
        "[13]  t1  v1  extraction  rule      say the first herb\n"
        "[13]  t1  v1  extraction  use when  a jar is named\n"
    )


def test_the_space_between_two_changed_words_is_no_line_of_its_own(
    decided: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(shutil.copy(decided, tmp_path / "run.db"))
    for text in ("name one herb", "say one herb", "say every herb"):
        edited = ["--text", text, "--by", "bob", "--reason", "it is said better"]
        main(["override", "edit", "m1", log, *edited])
    capsys.readouterr()
    main(["blame", "m1", log])
    rows = capsys.readouterr().out.splitlines()
    said = [re.split("  +", row)[-1] for row in rows if re.search(r"  rule(  |$)", row)]
    assert said == ["say", "every", "herb"]


def test_what_a_person_took_away_is_shown_as_withdrawn(
    decided: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["blame", "m1", str(decided)])
    *lines, heading, withdrawn = capsys.readouterr().out.splitlines()
    assert heading == "withdrawn"
    assert withdrawn.split("  ")[-1] == "the moon is full"
    assert "between" in withdrawn
    assert "override by ada" in withdrawn
    assert not any("the moon is full" in line for line in lines)
    main(["blame", "m1", str(decided), "--json"])
    told = json.loads(capsys.readouterr().out)
    (line,) = told["withdrawn"]
    assert (line["source"], line["by"], line["task_index"]) == ("override", "ada", None)
    assert line["says"] == "avoid when lost “the moon is full”"
    assert "".join(each["text"] for each in told["phrases"]) == told["rule"]
