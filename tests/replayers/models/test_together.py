from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.models.together import together

WAIT = 10.0


@given(st.lists(st.integers()), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(items: list[int], at_most: int) -> None:
    assert together(lambda item, _: item * 2, items, at_most) == [item * 2 for item in items]


def test_as_many_as_there_are_slots_are_under_way_at_once_each_in_a_slot_of_its_own() -> None:
    meeting = threading.Barrier(3)

    def meet(_: int, slot: int) -> int:
        meeting.wait(WAIT)  # broken unless three are here at once
        return slot

    assert sorted(together(meet, range(3), 3)) == [0, 1, 2]


def test_never_more_are_under_way_than_there_are_slots() -> None:
    guard, busy, most = threading.Lock(), [0], [0]

    def work(_: int, slot: int) -> int:
        with guard:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        threading.Event().wait(0.002)
        with guard:
            busy[0] -= 1
        return slot

    assert set(together(work, range(20), 3)) <= {0, 1, 2}
    assert 1 <= most[0] <= 3


def test_with_one_slot_all_happens_in_turn_in_the_calling_thread_up_to_the_first_failure() -> None:
    seen: list[int] = []

    def work(item: int, _: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append(item)
        if item == 1:
            raise Infrastructure("down")

    with pytest.raises(Infrastructure, match="down"):
        together(work, range(3), 1)
    assert seen == [0, 1]


def test_the_first_failure_in_order_is_raised_after_those_under_way_have_ended() -> None:
    meeting, late_failed, ended = threading.Barrier(3), threading.Event(), threading.Event()

    def work(item: int, _: int) -> None:
        meeting.wait(WAIT)
        if item == 2:
            late_failed.set()
            raise Infrastructure("third")
        late_failed.wait(WAIT)
        if item == 0:
            raise Infrastructure("first")
        ended.set()

    with pytest.raises(Infrastructure, match="first"):
        together(work, range(3), 3)
    assert ended.is_set()


def test_nothing_is_begun_after_a_failure() -> None:
    begun: list[int] = []
    meeting = threading.Barrier(2)

    def work(item: int, _: int) -> None:
        begun.append(item)
        meeting.wait(WAIT)
        raise Infrastructure("down")

    with pytest.raises(Infrastructure):
        together(work, range(50), 2)
    assert sorted(begun) == [0, 1]
