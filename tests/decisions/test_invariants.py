"""Whatever breaks a rule of the method is named, where it stands and alone; no real run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from judging import Tale, judged, named, tale_of
from judging import rich_tale as tale
from lively import lively_world, quick_folder

from discernmem.eventlog import events as ev
from discernmem.projections.state import fold
from discernmem.replayers.session import start

SETTINGS: Mapping[str, dict[str, Any]] = {
    "as they are": {},
    "wide": {"method": {"n_plus": 1, "n1": 3, "n2": 3, "k_inj": 3}},
    "without reuse": {"reuse": False},
    "one attempt": {"method": {"attempts": 1, "rounds": 3, "candidates": 3}},
    "no attempt": {"method": {"attempts": 0}},
    "nothing injected": {"method": {"k_inj": 0, "k_id": 0}},
    "no history": {"method": {"n1": 0, "n2": 0, "rounds": 0}},
    "near and strict": {"method": {"theta": 0.4, "epsilon": 0.0, "candidates": 0}},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_breaks_no_rule_under_any_settings(name: str, seed: int) -> None:
    with quick_folder() as folder:
        start(folder / "run.db", lively_world(folder, seed, tasks=7, **SETTINGS[name]))
        assert judged(tale_of(folder / "run.db")) == []


def settings(**method: Any) -> Tale:
    """The rich run under a header with other settings."""
    config = tale().at(1).event.config  # type: ignore[attr-defined]
    return tale().changed(1, config=config | {"method": config["method"] | method})


Where = Callable[[Any], object]
Fields = dict[str, Any] | Callable[[Any], dict[str, Any]]
ANY: Where = lambda _: True  # noqa: E731

CHANGES: Mapping[str, tuple[type[ev.Event], Where, Fields, str]] = {
    "the score is that of the scored execution": (
        ev.TaskScored, ANY, lambda e: {"score": e.score + 1}, "score is"),
    "the score is of what was supplied": (
        ev.TaskScored, lambda e: e.supplied, {"supplied": ()}, "supplied is ()"),
    "a memory is supplied in its version": (
        ev.MemorySupplied, ANY, {"role": "another"}, "role is 'another'"),
    "retrieval is in order of similarity": (
        ev.MemoriesRetrieved,
        lambda e: len({c.similarity for c in e.candidates}) > 1,
        lambda e: {"candidates": e.candidates[::-1]},
        "candidates are not in order of similarity"),
    "retrieval reads the observed context": (
        ev.MemoriesRetrieved, ANY, {"context": "0" * 64}, "context is"),
    "selection is among the retrieved": (
        ev.SelectionDecided, ANY, {"selected": ("m99",)}, "selected are not some of"),
    "an effect is the difference of two scores": (
        ev.EffectMeasured, ANY, lambda e: {"effect": e.effect + 0.5}, "effect is"),
    "an effect has the sign of the difference": (
        ev.EffectMeasured,
        lambda e: e.sign != "neutral",
        {"sign": "neutral"},
        "sign is 'neutral'"),
    "an effect enters the record as it was measured": (
        ev.EffectRecorded, ANY, lambda e: {"effect": e.effect + 0.5}, "effect is"),
    "calibration has no context": (
        ev.EffectRecorded,
        lambda e: e.origin == "calibration",
        {"context": "0" * 64},
        "context is"),
    "a diagnosis cites displayed steps": (
        ev.ContentDiagnosed,
        lambda e: e.supported,
        {"cited": ("with:s99",), "problem": "step not displayed: with:s99"},
        "supported is True"),
    "a label follows from effect, scope and diagnosis": (
        ev.UseAttributed, lambda e: e.label != "SCOPE", {"label": "SCOPE"}, "label is"),
    "a boundary is the one that was named": (
        ev.ConditionAdded,
        lambda e: e.kind == "avoid_when",
        {"text": "made up"},
        "text is 'made up'"),
    "use conditions come from the qualifying tasks": (
        ev.UseConditionsGeneralised, ANY, lambda e: {"tasks": e.tasks[:1]}, "tasks is"),
    "a transition is by its rule": (
        ev.StateChanged,
        lambda e: e.rule == "promotion",
        {"rule": "revival"},
        "rule is 'revival'"),
    "a transition rests on the effects of its rule": (
        ev.StateChanged, ANY, {"evidence": ()}, "evidence is ()"),
    "retention is the seeded draw": (
        ev.RepairStarted, ANY, {"retention": ("q1", "q2", "q3")}, "retention is"),
    "a repair looks back only": (
        ev.RepairStarted,
        lambda e: e.kind == "reuse",
        lambda e: {"skipped": (e.trigger,)},
        "related and skipped are not earlier tasks"),
    "a candidate cites displayed steps": (
        ev.CandidateProposed,
        lambda e: not e.problem,
        {"cited": ("with:s99",)},
        "problem is '', the rules give 'unknown evidence id: with:s99'"),
    "a candidate is what its edit makes": (
        ev.CandidateProposed, lambda e: e.body, {"body": "another"}, "body is"),
    "the gate judges by the scores": (
        ev.CandidateJudged, ANY, lambda e: {"accepted": not e.accepted}, "accepted is"),
    "a margin is a difference of recorded scores": (
        ev.CandidateJudged, ANY, lambda e: {"comparisons": e.comparisons[1:]}, "comparisons is"),
    "what is committed is the best accepted candidate": (
        ev.MemoryRevised, ANY, {"body": "another"}, "body is 'another'"),
    "a repair earns a capability by improving only": (
        ev.MemoryRevised,
        ANY,
        lambda e: {
            "capability": None
            if e.capability
            else ev.Capability(id="c1", correction="more", tasks=("q1",))
        },
        "capability is"),
    "a memory has the next id": (
        ev.MemoryAdmitted, ANY, {"memory": "m99"}, "memory is 'm99'"),
    "calibration draws earlier tasks": (
        ev.CalibrationDrawn, ANY, {"tasks": ("q12",)}, "tasks are not distinct earlier"),
    "an identity is among its candidates": (
        ev.IdentityJudged, ANY, {"matched": "m99"}, "matched m99 is no candidate"),
    "a task is completed with its score": (
        ev.TaskCompleted, ANY, {"score": 0.3}, "score is 0.3"),
    "executions asked for are counted": (
        ev.TaskCompleted, ANY, {"executions_asked": 0}, "executions_asked is 0"),
    "tasks come in order": (
        ev.TaskStarted, lambda e: e.index == 3, {"index": 4}, "index is 4"),
    "the run ends with its mean": (
        ev.RunFinished, ANY, {"mean_score": 1.5}, "mean_score is 1.5"),
    "replies are those that were read": (
        ev.ExtractionDecided,
        ANY,
        lambda e: {"replies": ("0" * 64,) * len(e.replies)},
        "replies do not hold the digest"),
    "an execution counts its calls": (
        ev.ExecutionFinished, ANY, {"model_calls": 99}, "model_calls is 99"),
}  # fmt: skip


@pytest.mark.parametrize("rule", CHANGES)
def test_a_changed_value_that_breaks_a_rule_is_named_where_it_is(rule: str) -> None:
    kind, where, fields, words = CHANGES[rule]
    position = tale().position(kind, where)
    values = fields if isinstance(fields, dict) else fields(tale().at(position).event)
    changed = tale().changed(position, **values)
    message = named(changed, position)
    assert message.startswith(kind.__name__)
    assert words in message


BOUNDS: Mapping[str, tuple[dict[str, Any], str, str]] = {
    "similarity": ({"theta": 0.999999}, "MemoriesRetrieved", "is not within"),
    "retrieved": ({"k_ret": 1}, "MemoriesRetrieved", "more than 1 candidates"),
    "injected": ({"k_inj": 1}, "SelectionDecided", "at most 1 may be"),
    "tolerance": ({"epsilon": 2.0}, "EffectMeasured", "the rules give 'neutral'"),
    "identity": ({"k_id": 0}, "IdentityJudged", "is due here"),
    "edits": ({"candidates": 1}, "RepairProposed", "at most 1 may be proposed"),
    "rounds": ({"rounds": 0}, "RepairProposed", "RepairEnded of"),
    "related": ({"n2": 0}, "CalibrationDrawn", "is due here"),
    "attempts": ({"attempts": 0}, "ExtractionDecided", "with at most 0 attempts"),
    "growth": ({"n_plus": 99}, "UseConditionsGeneralised", "is due here"),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_goes_beyond_a_bound_is_named(bound: str) -> None:
    method, kind, words = BOUNDS[bound]
    first = judged(settings(**method))[0][1]
    assert first.startswith(kind)
    assert words in first


def test_no_condition_can_match_where_there_is_none() -> None:
    for recorded in tale().events:
        if isinstance(event := recorded.event, ev.ScopeChecked) and not event.fallback:
            before = fold(r for r in tale().events if r.position < recorded.position)
            if not before.store[event.memory].avoid_when:
                break
    changed = tale().changed(recorded.position, avoid=True)
    assert "avoid holds although there is none" in named(changed, recorded.position)
