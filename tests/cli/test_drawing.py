"""What is drawn on a terminal: it fits, it hurts nothing, and nothing of it stays."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from terminals import PATIENCE, lines, screen, terminal, watched

from discernmem.cli.drawing import Block, Picture, drawable
from discernmem.cli.progress import duration

PICTURE = Picture(
    words=("task 12 of 60 r012", "replay of m3 on r005 for candidate 2.1: answer of solver"),
    done=11,
    of=60,
    count="11 of 60 tasks",
    facts=("about 340 executions left", "41 tokens/s", "about 12 min left", "23 executions saved"),
)


def settled(written: Callable[[], str], times: int) -> str:
    """What was written once so many pictures were drawn."""
    last = time.monotonic() + PATIENCE
    while (raw := written()).count("\x1b[?7h") < times:
        assert time.monotonic() < last
        threading.Event().wait(0.01)
    return raw


@pytest.fixture(autouse=True)
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminals of these tests belong to nobody's session; they have the colours we say."""
    monkeypatch.setattr(Block, "_in_front", lambda _: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


def drawn(picture: Picture, columns: int, rows: int = 24) -> tuple[list[str], str]:
    """The lines of one drawing, and what was written for it."""
    with watched(columns=columns, rows=rows) as (stream, written):
        block = Block(lambda: picture, stream)
        raw = settled(written, 1)
        block.close()
        shown, feed = screen(columns, rows)
        feed.feed("$\r\n" + raw)
        seen = lines(shown)[1:]
        feed.feed(written()[len(raw) :])
        assert lines(shown) == ["$"], "nothing stays"
    return seen, raw


def test_a_wide_terminal_shows_it_in_three_lines() -> None:
    seen, _ = drawn(PICTURE, 200)
    assert seen[0] == ": ".join(PICTURE.words)
    assert seen[1].endswith(" 11 of 60 tasks")
    assert seen[2] == ", ".join(PICTURE.facts)
    assert len(seen) == 3


def test_eighty_columns_hold_a_usual_task() -> None:
    seen, _ = drawn(PICTURE, 80)
    assert seen[0] == ": ".join(PICTURE.words)
    assert seen[2:] == [", ".join(PICTURE.facts)]


@pytest.mark.parametrize("columns", [1, 2, 5, 12, 20, 40])
def test_a_narrow_terminal_gets_more_lines_and_none_too_long(columns: int) -> None:
    seen, _ = drawn(PICTURE, columns)
    assert all(len(line) < max(columns, 2) for line in seen)
    if columns == 40:
        assert seen[0] == "task 12 of 60 r012"
        assert seen[1] == "replay of m3 on r005 for candidate 2.1…"
        assert seen[2].endswith(" 11 of 60 tasks")
        assert seen[3:] == [
            "about 340 executions left, 41 tokens/s",
            "about 12 min left, 23 executions saved",
        ]


def test_a_low_terminal_gets_what_fits_on_it() -> None:
    seen, _ = drawn(PICTURE, 40, rows=3)
    assert seen == ["task 12 of 60 r012", "replay of m3 on r005 for candidate 2.1…"]


HOSTILE = "\x1b[2J\x1b]0;title\x07[red]x[/red]\x9b31m\r\n\u202eevil :boom: \u200b"


def test_a_text_from_anywhere_moves_no_cursor_and_is_no_markup() -> None:
    seen, raw = drawn(Picture(words=("task 1 of 2", HOSTILE), done=1, of=2, count="1 of 2"), 200)
    assert "[red]x[/red]" in seen[0]
    assert ":boom:" in seen[0]
    for hidden in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e", "\u200b"):
        assert hidden not in raw
    assert len(seen) == 2


def test_wide_letters_count_as_two_columns() -> None:
    seen, raw = drawn(Picture(words=("漢字" * 40,), done=1, of=2, count="1 of 2"), 40)
    assert len(seen) == 2
    assert raw.count("漢字") < 20
    assert "…" in seen[0]


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[38" in drawn(PICTURE, 80)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    seen, raw = drawn(PICTURE, 80)
    assert seen[0] == ": ".join(PICTURE.words)
    assert not [part for part in raw.split("\x1b[")[1:] if part.split("m")[0].isdigit()]


def test_what_is_not_counted_has_a_bar_all_the_same() -> None:
    seen, _ = drawn(Picture(words=("opens what the run asks",), done=0, of=0), 40)
    assert len(seen) == 2


def test_lines_that_are_printed_meanwhile_stay_above() -> None:
    with watched() as (stream, written):
        before = sys.stdout, sys.stderr
        sys.stderr = stream
        try:
            block = Block(lambda: PICTURE, stream)
            settled(written, 1)
            print("a warn", end="", file=sys.stderr)
            print("ing", file=sys.stderr)
            print("no line end", end="", file=sys.stderr)
            block.close()
            assert sys.stderr is stream
        finally:
            sys.stdout, sys.stderr = before
        shown, feed = screen(80)
        feed.feed(written())
        assert lines(shown) == ["a warning", "no line end"]


def test_a_terminal_that_is_gone_stops_nothing() -> None:
    master, slave = os.openpty()
    stream: Any = os.fdopen(slave, "w")
    os.close(master)
    block = Block(lambda: PICTURE, stream)
    block.draw()
    block.close()
    with suppress(OSError):
        stream.close()


LOCKED = """
import _imp, sys
from discernmem.cli.drawing import Block, Picture
block = Block(lambda: Picture(words=("漢字 é",), done=1, of=2, count="1", facts=("2",)), sys.stderr)
_imp.acquire_lock()
block.close()
print("closed")
"""
"""What a signal leaves behind that comes while the main thread imports something."""


def test_nothing_is_imported_while_it_draws_so_an_import_cut_short_stops_nothing() -> None:
    with terminal(command=(sys.executable, "-c", LOCKED)) as shown:
        shown.read_until("漢字 é")
        assert shown.ended() == 0
        assert shown.last_screen() == ["closed"]


def test_a_picture_that_is_missing_is_not_drawn() -> None:
    with watched() as (stream, written):
        Block(lambda: None, stream).close()
        assert "\x1b[?7l" not in written()


@pytest.mark.parametrize("reflows", [False, True])
def test_a_terminal_made_narrower_keeps_nothing_of_the_old_lines(reflows: bool) -> None:
    """A terminal that breaks long lines again keeps the cursor where the first of them begins."""
    with watched(columns=80) as (stream, written):
        block = Block(lambda: PICTURE, stream)
        wide = settled(written, 1)
        shown, feed = screen(80)
        feed.feed("before\r\n" + wide)
        block.close()
        rest = written()[len(wide) :]
    if reflows:
        broken = [part for line in lines(shown) for part in (line[:40], line[40:]) if part]
        at = next(n for n, line in enumerate(broken) if line.startswith("task"))
        shown, feed = screen(40)
        feed.feed("\r\n".join(broken) + f"\x1b[{at + 1};1H")
    else:
        shown.resize(24, 40)
    feed.feed(rest)
    assert lines(shown) == ["before"]


def test_only_a_terminal_that_can_go_back_is_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as (stream, _):
        assert drawable(stream)
        for name in ("dumb", "unknown"):
            monkeypatch.setenv("TERM", name)
            assert not drawable(stream)
    monkeypatch.setenv("TERM", "xterm")
    with open(os.devnull, "w") as nothing:
        assert not drawable(nothing)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.7, "1 min"),
        (754, "13 min"),
        (3590, "1 h 0 min"),
        (12000, "3 h 20 min"),
        (86400 * 2 + 3600 * 4, "2 d 4 h"),
    ],
)
def test_a_length_of_time_is_told_in_the_units_that_matter(seconds: float, words: str) -> None:
    assert duration(seconds) == words
