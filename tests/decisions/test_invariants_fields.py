"""No field of a conclusion can be changed unseen, but for the words of the model."""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
import pytest
from judging import Tale, judged, made, rich_tale

from discernmem.decisions.overrides import consequences
from discernmem.eventlog import digest
from discernmem.eventlog import events as ev
from discernmem.projections.state import fold

WORDS = "what a model said; only its reply can tell"
NEAR = "how near two texts are; only their vectors can tell"
FOLD = "what the fold of the log is compared with"
OFFLINE = {
    ("MemoriesRetrieved", "candidates"): NEAR,
    ("SelectionDecided", "unknown"): WORDS,
    ("SelectionDecided", "fallback"): WORDS,
    ("ScopeChecked", "use"): WORDS,
    ("ScopeChecked", "boundary"): WORDS,
    ("ScopeChecked", "fallback"): WORDS,
    ("ContentDiagnosed", "defect"): WORDS,
    ("ContentDiagnosed", "description"): WORDS,
    ("ContentDiagnosed", "cited"): WORDS,
    ("ContentDiagnosed", "fallback"): WORDS,
    ("UseConditionsGeneralised", "returned"): WORDS,
    ("UseConditionsGeneralised", "fallback"): WORDS,
    ("RepairProposed", "fallback"): WORDS,
    ("CandidateProposed", "anchor"): WORDS,
    ("CandidateProposed", "edit"): WORDS,
    ("CandidateProposed", "cited"): WORDS,
    ("CandidateProposed", "correction"): WORDS,
    ("ExtractionDecided", "fallback"): WORDS,
    ("IdentityJudged", "candidates"): NEAR,
    ("IdentityJudged", "reason"): WORDS,
    ("IdentityJudged", "fallback"): WORDS,
    ("StoreCheckpointed", "state_version"): FOLD,
    ("StoreCheckpointed", "state_hash"): FOLD,
}
"""The fields of which some change breaks no rule, and who judges them."""

SAMPLED = 2
"""Events of each type that are changed; every one of their fields is."""


@cache
def tale() -> Tale:
    """A rich run, and before its end a person's decision of every kind."""
    run = rich_tale()
    for action, kind, text in (
        ("add-use", "use_when", "a jar is named"),
        ("withdraw-condition", "use_when", "a jar is named"),
        ("edit", None, "Look twice before answering"),
        ("add-avoid", "avoid_when", "nothing is asked"),
        ("retire", None, ""),
        ("revive", None, ""),
    ):
        end = run.position(ev.RunFinished)
        memory = fold(run.events).store.ordered()[0]
        if (action, memory.state) == ("retire", "inactive"):
            continue
        decision = ev.MemoryOverridden(
            memory=memory.id,
            version=memory.version,
            body=digest(memory.body.encode()),
            action=action,
            kind=kind,
            text=text,
            reason="a test",
            by="a tester",
        )
        name = f"by hand: {action}"
        follows = [
            made(event, f"{name} {n}", name)
            for n, event in enumerate(consequences(memory, decision, name))
        ]
        before = max(r.position for r in run.events if r.position < end)
        added = [
            each._replace(position=before + n)
            for n, each in enumerate((made(decision, name), *follows), start=1)
        ]
        *first, last = run.events
        shifted = last._replace(position=before + len(added) + 1)
        run = attrs.evolve(run, events=(*first, *added, shifted))
    return run


def test_the_run_whose_fields_are_changed_breaks_no_rule_and_has_every_conclusion() -> None:
    assert judged(tale()) == []
    assert {r.type for r in tale().events} >= set(ev.DERIVED)


def sampled() -> Iterator[int]:
    seen: dict[str, int] = defaultdict(int)
    for recorded in tale().events:
        seen[recorded.type] += recorded.event.KIND == "derived"
        if recorded.event.KIND == "derived" and seen[recorded.type] <= SAMPLED:
            yield recorded.position


def others(hint: Any, value: Any) -> Iterator[Any]:
    """Other values that a field could hold."""
    if typing.get_origin(hint) is typing.Literal:
        yield from (other for other in typing.get_args(hint) if other != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value}x"
        if value:
            yield ""
    elif isinstance(value, tuple) and value:
        yield value[:-1]
        yield (*value, value[-1])
        if isinstance(value[-1], ev.Candidate):
            near = attrs.evolve(value[-1], similarity=value[-1].similarity - 1e-3)
            yield (*value[:-1], near)
    elif isinstance(value, tuple):
        kind = typing.get_args(hint)[0]
        if kind is str:
            yield ("x",)
    elif isinstance(value, ev.Capability):
        yield None
        yield attrs.evolve(value, correction="another")
    else:
        kinds = typing.get_args(hint)
        if float in kinds:
            yield 0.5
        elif ev.Capability in kinds:
            yield ev.Capability(id="c1", correction="another", tasks=("q1",))
        else:
            yield "0" * 64


def end_of_task(position: int) -> int:
    """The position of the last event of the task that an event belongs to."""
    index = tale().at(position).task_index
    if index is None:
        return tale().events[-1].position
    return max(r.position for r in tale().events if r.task_index == index)


@cache
def unseen() -> dict[tuple[str, str], int]:
    """How many changes of each field that was changed are not named before its task ends."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for position in sampled():
        recorded = tale().at(position)
        hints = typing.get_type_hints(type(recorded.event))
        for field in attrs.fields(type(recorded.event)):
            for other in others(hints[field.name], getattr(recorded.event, field.name)):
                told = judged(
                    tale().changed(position, **{field.name: other}), until=end_of_task(position)
                )
                assert all(at >= position for at, _ in told), "what came before is as it was"
                found[recorded.type, field.name] += not told
    return found


def every_field() -> list[tuple[str, str]]:
    return [
        (name, field.name) for name in ev.DERIVED for field in attrs.fields(ev.EVENT_TYPES[name])
    ]


@pytest.mark.parametrize(("kind", "field"), every_field())
def test_a_changed_field_is_named_unless_only_a_replay_can_judge_it(kind: str, field: str) -> None:
    assert (kind, field) in unseen(), "was never changed"
    assert unseen()[kind, field] == 0 or (kind, field) in OFFLINE


def test_what_a_replay_judges_is_a_field_there_is() -> None:
    assert OFFLINE.keys() <= set(every_field())
