"""One set of facts and fitting answers for the tests of the seven decisions."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from discernmem.decisions.llm import (
    DECISIONS,
    DiagnosisFacts,
    ExtractionFacts,
    Feedback,
    GeneralisationFacts,
    IdentityFacts,
    Listed,
    RepairFacts,
    ScopeFacts,
    SelectionFacts,
    Step,
    parse,
)
from discernmem.eventlog.events import Capability


def samples(text: Callable[[str], str]) -> dict[str, Any]:
    """Facts for each decision whose free texts are made by ``text`` from their names."""

    def steps(name: str) -> tuple[Step, ...]:
        return (
            Step("s1", "planner", text(f"{name}-one")),
            Step("s2", "solver", text(f"{name}-two")),
        )

    def listed(memory: str) -> Listed:
        return Listed(
            memory=memory,
            body=text(f"{memory}-body"),
            use_when=(text(f"{memory}-use"),),
            avoid_when=(text(f"{memory}-avoid"),),
        )

    rule: dict[str, Any] = {
        "role": text("the-role"),
        "body": text("the-body"),
        "use_when": (text("use-one"), text("use-two")),
        "avoid_when": (text("avoid-one"),),
    }
    pair: dict[str, Any] = {
        "task_text": text("the-task"),
        "steps_with": steps("with"),
        "steps_without": steps("without"),
    }
    return {
        "extraction": ExtractionFacts(
            role=text("the-role"),
            task_text=text("the-task"),
            context=text("the-context"),
            role_messages=steps("own"),
            outgoing=steps("after"),
            score=0.25,
            maximum=1.0,
        ),
        "identity": IdentityFacts(**rule, candidates=(listed("m4"), listed("m11"))),
        "selection": SelectionFacts(
            role=text("the-role"),
            context=text("the-context"),
            candidates=(listed("m4"), listed("m11"), listed("m2")),
        ),
        "scope check": ScopeFacts(**rule, contexts=(text("context-one"), text("context-two"))),
        "content diagnosis": DiagnosisFacts(**rule, **pair, score_with=0.125, score_without=0.75),
        "generalisation": GeneralisationFacts(
            **rule, contexts=(text("context-one"), text("context-two"))
        ),
        "repair": RepairFacts(
            **rule,
            **pair,
            capabilities=(Capability(id="p3", correction=text("the-correction"), tasks=("q9",)),),
            defect="wrong_order",
            description=text("the-fault"),
            cited=("with:s2",),
            source_steps=steps("source"),
            candidates=2,
            feedback=(
                Feedback(
                    round=1,
                    number=2,
                    operation="DELETE",
                    edited_body=text("tried-body"),
                    reason=text("tried-reason"),
                    comparisons=text("tried-scores"),
                ),
            ),
        ),
    }


EDIT = {
    "correction": "looks first",
    "operation": "ADD",
    "anchor": "the-body ",
    "text": " after looking",
    "cited": ["with:s1", "none:s2", "with:s1"],
}
ANSWERS: dict[str, dict[str, Any]] = {
    "extraction": {
        "reason": "it checked",
        "store": True,
        "rule": " Check the door. ",
        "use_when": ["a door", "none"],
        "avoid_when": [],
    },
    "identity": {"reason": "same steps", "match": "m11"},
    "selection": {"reason": "fits", "selected": ["m2", "m4", "m2"]},
    "scope check": {"reason": "no door", "use": False, "avoid": False, "boundary": "no door"},
    "content diagnosis": {
        "reason": "it loops",
        "defect": "missing_progress_check",
        "description": "It repeats.",
        "cited": ["with:s1", "none:s2"],
    },
    "generalisation": {"reason": "both", "use_when": ["a door is shut", " a door is shut", "N/A"]},
    "repair": {"reason": "too early", "edits": [EDIT]},
}


@pytest.fixture(scope="session")
def make_facts() -> Callable[[Callable[[str], str]], dict[str, Any]]:
    """Makes the facts of every decision, their free texts by a function of their names."""
    return samples


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    """Facts by decision, each free text a mark with a hyphen."""
    return samples(lambda name: name)


@pytest.fixture(scope="session")
def answers() -> dict[str, dict[str, Any]]:
    """A fitting answer to each decision's facts."""
    return ANSWERS


@pytest.fixture(scope="session")
def read(facts: dict[str, Any]) -> Callable[..., Any]:
    """Reads a decision's fitting answer with some of its fields changed."""

    def read_changed(name: str, **changed: object) -> Any:
        return parse(DECISIONS[name], facts[name], json.dumps(ANSWERS[name] | changed))

    return read_changed
