"""Every block of code in the documentation does, or is, what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_console import as_shown, shown_anew, steps
from doc_pages import blocks, name, pages
from doc_stage import stage

WORDS = {
    "console": {"shown"},
    "json": set(),
    "jsonl": set(),
    "python": {"shown"},
    "sql": set(),
    "text": {"faults", "layers"},
    "toml": {"config", "host", "project"},
}
"""The languages of blocks and what may be said of one, besides ``file=`` and ``needs=``."""

PAGES = [page for page in pages() if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    with stage(tmp_path / "page") as here:
        for block in blocks(page):
            try:
                here.attempt(block)
            except Exception as error:
                raise AssertionError(f"{block.place}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_tried(page: Path) -> None:
    for block in blocks(page):
        assert block.language in WORDS, f"{block.place}: language {block.language!r}"
        assert set(block.words) <= WORDS[block.language], block.place
        assert set(block.options) <= {"file", "needs"}, block.place


@pytest.mark.parametrize("page", pages(), ids=name)
def test_no_block_hides_from_the_tests(page: Path) -> None:
    """Fences begin their lines, are of backticks and are closed; nothing is a block by indent."""
    text = page.read_text("utf-8")
    fences = [line for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(blocks(page))
    assert all(line.startswith("```") for line in fences)


def test_every_language_is_tried(tmp_path: Path) -> None:
    with stage(tmp_path / "page") as here:
        assert here.languages == set(WORDS)


def test_an_ellipsis_stands_for_lines_or_for_the_rest_of_one() -> None:
    real = ["first", "second line", "third"]
    assert as_shown(("first", "…", "third"), real)
    assert as_shown(("first", "second…", "third"), real)
    assert as_shown(("…",), real)
    assert not as_shown(("first", "third"), real)
    assert not as_shown(("first", "second…"), real)
    assert not as_shown(("…", "second line"), real)


def test_a_session_is_read_as_commands_with_what_they_print() -> None:
    first, second = steps("$ one \\\n  --more\na\n\nb\n$ two\n")
    assert (first.command, first.shown) == ("one \\\n  --more", ("a", "", "b"))
    assert (second.command, second.shown) == ("two", ())


def test_what_is_written_anew_is_cut_where_it_was_cut() -> None:
    real = ["one", "two, and quite long", "three", "four", "five"]
    assert shown_anew(("old one", "…", "old five"), real) == ("one", "…", "five")
    assert shown_anew(("one", "two, …", "3", "four", "five"), real)[1] == "two,…"
    assert shown_anew(("x", "…", "three", "…", "five"), real) == ("one", "…", "three", "…", "five")
    assert shown_anew(("x", "y"), real) == tuple(real)
    for shown in [("old one", "…", "old five"), ("x", "…", "three", "…", "five")]:
        assert as_shown(shown_anew(shown, real), real)
