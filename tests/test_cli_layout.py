"""What is printed stays in its line, within the terminal, and readable without colours."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.cli.layout import NARROWEST, Screen, Span, difference, screen
from discernmem.cli.printing import columns, effect, json_text, shown
from discernmem.cli.widths import columns_of
from discernmem.projections.words import word_diff

HOSTILE = "\x1b[2J\x1b]0;t\x07a\rb\nc\td\u202ee\u2066f\u200bg\U000e0041h\x9b1mi\u2028j\ufeff\x7f"
TEXTS = st.one_of(st.text(), st.text(alphabet=HOSTILE + "word  "))
STYLES = st.sampled_from(["", "quiet", "bad", "good"])
SPANS = st.lists(st.builds(Span, TEXTS, STYLES), max_size=4)
JOINERS = "\u200c\u200d"


@given(TEXTS)
def test_nothing_that_is_shown_moves_anything(text: str) -> None:
    found = shown(text)
    assert {unicodedata.category(letter) for letter in found if letter not in JOINERS} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    } == set()
    assert shown(found) == found


@given(st.text(alphabet=st.characters(exclude_categories=("C", "Zl", "Zp", "Zs"))))
def test_what_is_seen_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\rb\r\nc\n\nd\te", "a b c  d e"),
        ("\u202egnol", "\\u202egnol"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("क्\u200dष 👩\u200d🚀", "क्\u200dष 👩\u200d🚀"),
        ("two  spaces", "two  spaces"),
    ],
)
def test_what_is_not_seen_becomes_a_space_or_an_escape(text: str, expected: str) -> None:
    assert shown(text) == expected


@given(SPANS, st.integers(30, 90))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(
    spans: list[Span], width: int
) -> None:
    lines = list(Screen(width, colour=False).lines(*spans, first="  └─ ", rest="  │    "))
    assert all(columns_of(line) <= width + 2 for line in lines)
    assert lines[0].startswith("  └─")
    assert all(line.startswith("  │") for line in lines[1:])
    kept = "".join(line[5 if not n else 7 :] for n, line in enumerate(lines))
    said = "".join(shown(span.text) for span in spans)
    assert kept.replace(" ", "") == said.replace(" ", "")


@given(SPANS)
def test_without_a_terminal_a_line_is_one_line_of_the_text_alone(spans: list[Span]) -> None:
    (line,) = Screen(None, colour=False).lines(*spans)
    assert line == "".join(shown(span.text) for span in spans).rstrip()


@given(SPANS, st.integers(30, 90))
def test_colours_change_nothing_but_colours(spans: list[Span], width: int) -> None:
    plain = list(Screen(width, colour=False).lines(*spans, first="│ ", rest="│   "))
    painted = list(Screen(width, colour=True).lines(*spans, first="│ ", rest="│   "))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in painted] == plain


def test_a_text_that_stands_deep_still_gets_some_columns() -> None:
    deep = "│  " * 20
    lines = list(Screen(40, colour=False).lines(Span("word " * 20), first=deep, rest=deep))
    assert {len(line) - len(deep) for line in lines} <= set(range(NARROWEST + 1))
    assert len(lines) == 5


def test_wide_letters_count_for_two_columns_and_marks_for_none() -> None:
    assert columns_of("漢字") == 4
    assert columns_of("e\u0301") == 1
    assert columns_of("ไม่เป็น") == 5
    assert columns_of("हिन्दी") == 3
    assert columns_of("\u1100\u1161\u11a8") == 2
    lines = list(Screen(20, colour=False).lines(Span("漢" * 25)))
    assert [columns_of(line) for line in lines] == [20, 20, 10]


def test_a_difference_is_marked_as_git_marks_it_or_by_colours() -> None:
    spans = difference(word_diff("say the first herb twice", "say the herbs twice"))
    (line,) = Screen(None, colour=False).lines(*spans)
    assert line == "say the [-first herb-]{+herbs+} twice"
    (line,) = Screen(None, colour=True).lines(*spans)
    assert re.sub(r"\x1b\[[0-9;]*m", "", line) == "say the first herbherbs twice"
    assert "\x1b[31m" in line
    assert "\x1b[32m" in line


@pytest.mark.usefixtures("capsys")
@pytest.mark.parametrize(
    ("variables", "colour"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_off_a_terminal_there_are_colours_only_if_they_are_forced(
    variables: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert screen() == Screen(None, colour)


def test_a_table_keeps_hostile_cells_in_their_columns() -> None:
    assert columns([("a\nb", "1"), ("c\x1b[A", "2")]) == "a b      1\nc\\x1b[A  2"


@given(TEXTS)
def test_json_hides_nothing_and_says_the_same(text: str) -> None:
    printed = json_text({text: [text]})
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed) == {text: [text]}


def test_a_table_keeps_wide_cells_in_their_columns() -> None:
    assert columns([("漢字", "1"), ("abc", "2"), ("नि", "3")]) == "漢字  1\nabc   2\nनि     3"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.125, "+0.12"), (-0.001, "+0.00"), (-1.0, "-1.00"), (None, "–"), (0.0, "+0.00")],  # noqa: RUF001
)
def test_an_effect_has_a_sign_and_two_decimals(value: float | None, expected: str) -> None:
    assert effect(value) == expected
