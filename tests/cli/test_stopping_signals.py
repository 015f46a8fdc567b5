"""When a signal takes effect: at once, or at the next clean boundary of a log."""

from __future__ import annotations

import signal
from contextlib import suppress

import pytest

from discernmem.cli.stopping import SIGNALS, Stop, Stopped, signals_to
from discernmem.replayers.progress import Asking, Away, Back, Observed, RunBegun, RunEnded

BEGUN = RunBegun(tasks=3, done=0)
REPLY = Observed("ModelReplied", "world")
INT, TERM = signal.SIGINT, signal.SIGTERM


def recording() -> Stop:
    stop = Stop()
    stop.hear(BEGUN)
    return stop


def test_where_nothing_is_recorded_a_signal_stops_at_once() -> None:
    stop = Stop()
    with pytest.raises(Stopped):
        stop.handle(TERM, None)
    assert stop.exit_status == 143


def test_the_answer_that_is_waited_for_is_recorded_first() -> None:
    stop = recording()
    stop.hear(Asking("embedding"))
    stop.handle(INT, None)
    with pytest.raises(Stopped):
        stop.hear(Observed("TextEmbedded", "world"))
    assert stop.exit_status == 130


def test_all_answers_that_were_asked_for_at_once_are_recorded_first() -> None:
    stop = recording()
    stop.hear(Asking("answer of writer", 3))
    stop.handle(INT, None)
    stop.hear(REPLY)
    stop.hear(REPLY)
    with pytest.raises(Stopped):
        stop.hear(REPLY)


def test_nothing_more_is_asked() -> None:
    stop = recording()
    stop.handle(INT, None)
    with pytest.raises(Stopped):
        stop.hear(Asking("embedding"))


def test_the_second_signal_does_not_wait_and_the_first_names_the_status() -> None:
    stop = recording()
    stop.hear(Asking("embedding"))
    stop.handle(TERM, None)
    with pytest.raises(Stopped):
        stop.handle(INT, None)
    assert stop.exit_status == 143


def test_the_code_of_others_is_stopped_at_once_also_when_it_goes_on_regardless() -> None:
    stop = recording()
    stop.hear(Away())
    for _ in range(3):
        with pytest.raises(Stopped):
            stop.handle(INT, None)
    stop.hear(Back())
    with pytest.raises(Stopped):
        stop.hear(Asking("answer of writer"))


def test_on_the_way_out_further_signals_disturb_nothing() -> None:
    stop = recording()
    stop.handle(INT, None)
    with pytest.raises(Stopped):
        stop.handle(INT, None)
    stop.handle(INT, None)
    stop.hear(RunEnded())
    stop.handle(TERM, None)


def test_a_log_that_is_being_closed_is_closed() -> None:
    stop = recording()
    stop.hear(RunEnded())
    stop.handle(INT, None)
    stop.closed()
    with pytest.raises(Stopped):
        stop.hear(BEGUN)


def test_an_ignored_signal_stays_ignored_and_handlers_are_given_back() -> None:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stop = Stop()
        with signals_to(stop):
            signal.raise_signal(signal.SIGINT)
            assert not stop.asked
            with suppress(Stopped):
                signal.raise_signal(signal.SIGTERM)
            assert stop.asked == signal.SIGTERM
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
