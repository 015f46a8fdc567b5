"""The historical sets H1 and H2 (method, section 7; Eq. 8, A.2)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.retention import draw_retention, pool, rank_related, saturated
from discernmem.eventlog import events as ev
from discernmem.projections.evidence import Effect
from discernmem.projections.history import TaskRecord


def effect(index: int, sign: ev.Sign = "positive", *, avoid: bool = False) -> Effect:
    return Effect(
        event_id=f"e{index}",
        task=f"t{index}",
        task_index=index,
        origin="reuse",
        effect=0.0,
        sign=sign,
        label="NONE",
        avoid=avoid,
        changed=True,
        context=ev.BlobRef("context"),
    )


def tasks(*indices: int) -> list[TaskRecord]:
    return [
        TaskRecord(index=index, id=f"t{index}", domain="d", text=ev.BlobRef(""))
        for index in indices
    ]


def capability(*validated: str) -> ev.Capability:
    return ev.Capability(id="m1.c1", correction="look first", tasks=validated)


def draw(
    pool_tasks: list[str],
    before: list[TaskRecord],
    exclude: frozenset[str] = frozenset(),
    n1: int = 2,
    seed: int = 42,
    memory: str = "m1",
    trigger: str = "t99",
) -> tuple[str, ...]:
    return draw_retention(
        pool_tasks,
        before=before,
        exclude=exclude,
        n1=n1,
        seed=seed,
        memory=memory,
        trigger=trigger,
    )


def test_the_pool_is_where_the_memory_helped_or_a_correction_was_validated() -> None:
    effects = [effect(4), effect(2, "negative"), effect(3, avoid=True), effect(5, "neutral")]
    assert pool(effects, [capability("t7", "t4"), capability("t1")]) == ("t4", "t7", "t1")


def test_without_history_the_pool_and_the_sample_are_empty() -> None:
    assert pool((), ()) == ()
    assert draw([], tasks(1, 2)) == ()
    assert draw(["t1"], []) == ()


def test_a_pool_within_the_budget_is_taken_whole_in_task_order() -> None:
    assert draw(["t3", "t1"], tasks(1, 2, 3)) == ("t1", "t3")


def test_no_budget_draws_nothing() -> None:
    assert draw(["t1", "t2"], tasks(1, 2), n1=0) == ()


def test_trigger_and_source_and_later_tasks_are_never_drawn() -> None:
    pool_tasks = ["t1", "t2", "t3", "t9"]
    assert draw(pool_tasks, tasks(1, 2, 3), frozenset({"t1", "t3"}), n1=4) == ("t2",)


def test_the_sample_is_the_recorded_one_on_every_machine() -> None:
    before = tasks(*range(1, 21))
    members = [task.id for task in before]
    assert draw(members, before) == ("t8", "t19")
    assert draw(members, before, seed=7) == ("t19", "t20")


def test_seed_memory_and_trigger_each_matter() -> None:
    before = tasks(*range(1, 101))
    members = [task.id for task in before]
    drawn = {
        draw(members, before, n1=10),
        draw(members, before, n1=10, seed=43),
        draw(members, before, n1=10, memory="m2"),
        draw(members, before, n1=10, trigger="t98"),
    }
    assert len(drawn) == 4


def test_the_sample_does_not_depend_on_the_hash_seed_of_the_interpreter() -> None:
    program = (
        "from discernmem.decisions.retention import draw_retention\n"
        "from discernmem.eventlog.events import BlobRef\n"
        "from discernmem.projections.history import TaskRecord\n"
        "named = [(i, f't{i}') for i in range(1, 21)]\n"
        "b = [TaskRecord(index=i, id=t, domain='d', text=BlobRef('')) for i, t in named]\n"
        "print(*draw_retention({t.id for t in b}, before=b, exclude={'t1'}, n1=3, seed=42,"
        " memory='m1', trigger='t99'))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1
    assert len(printed.pop().split()) == 3


@given(
    st.sets(st.integers(1, 30)),
    st.sets(st.integers(1, 30)),
    st.sets(st.integers(1, 30)),
    st.integers(0, 5),
    st.integers(0, 2**32),
)
def test_the_sample_stays_in_bounds_and_ignores_the_order_it_is_given(
    members: set[int], earlier: set[int], excluded: set[int], n1: int, seed: int
) -> None:
    pool_tasks = [f"t{n}" for n in sorted(members)]
    before = tasks(*sorted(earlier))
    exclude = frozenset(f"t{n}" for n in excluded)
    drawn = draw(pool_tasks, before, exclude, n1=n1, seed=seed)
    allowed = members & earlier - excluded
    assert len(drawn) == min(n1, len(allowed))
    assert {int(task[1:]) for task in drawn} <= allowed
    assert list(drawn) == sorted(drawn, key=lambda task: int(task[1:]))
    assert drawn == draw(pool_tasks[::-1], before[::-1], exclude, n1=n1, seed=seed)


@given(st.integers(0, 5), st.integers(0, 1000))
def test_a_larger_sample_keeps_the_smaller_one(n1: int, seed: int) -> None:
    before = tasks(*range(1, 11))
    members = [task.id for task in before]
    assert set(draw(members, before, n1=n1, seed=seed)) <= set(
        draw(members, before, n1=n1 + 1, seed=seed)
    )


def test_related_tasks_come_nearest_first_and_ties_earlier_first() -> None:
    near = {"t1": 0.2, "t2": 0.9, "t3": 0.9000001, "t4": 0.5}
    ranked = rank_related(near, before=tasks(1, 2, 3, 4), exclude=())
    assert ranked == ["t2", "t3", "t4", "t1"]


def test_related_tasks_lie_outside_the_pool_and_are_neither_trigger_nor_source() -> None:
    near = {f"t{n}": n / 10 for n in range(1, 6)}
    ranked = rank_related(near, before=tasks(1, 2, 3, 4, 5), exclude={"t5", "t1"}, pool=("t3",))
    assert ranked == ["t4", "t2"]


def test_a_rankable_task_without_similarity_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        rank_related({}, before=tasks(1), exclude=())


@pytest.mark.parametrize(
    ("parent", "none", "expected"),
    [
        pytest.param(1.0, 1.0, True, id="both at the maximum"),
        pytest.param(1.0, 0.99, False, id="no memory below the maximum"),
        pytest.param(0.99, 1.0, False, id="parent below the maximum"),
    ],
)
def test_a_task_is_skipped_when_parent_and_nothing_both_score_the_maximum(
    parent: float, none: float, expected: bool
) -> None:
    assert saturated(parent, none) is expected
