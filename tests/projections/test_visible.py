"""Texts as they may be shown."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.projections.visible import visible


@pytest.mark.parametrize(
    "text",
    [
        "Plain, with spaces\nand lines\tand tabs\r\n",
        "קרא את הקטע פעמיים",
        "👩\u200d🔬 🏳️\u200d🌈 नमस्\u200dते",
        "5\u202f%, 10\u00a0000",
        "\U0001fae9 is younger than some tables",
    ],
)
def test_a_text_without_anything_hidden_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202eabc\u2069", r"\u202eabc\u2069"),
        ("a\x1b[2J\x00", r"a\x1b[2J\x00"),
        ("a\u200bb\u2060c\ufeff", r"a\u200bb\u2060c\ufeff"),
        ("hide\U000e0041", r"hide\U000e0041"),
        ("\udcff half", r"\udcff half"),
        ("\ufffe\U0001ffff", r"\ufffe\U0001ffff"),
        ("line\u2028line\x85line", r"line\u2028line\x85line"),
    ],
)
def test_what_cannot_be_seen_is_written_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_hidden_is_left_and_everything_else_is_kept(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    shown.encode()
    left = {letter for letter in shown if category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert left <= set("\t\r\n\u200c\u200d")
    assert shown == text or not text.isprintable()
