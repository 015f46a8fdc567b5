"""What each of the seven decisions makes of its own answers, and what it leaves to the rules."""

from collections.abc import Callable
from typing import Any

import attrs
import jsonschema
import pytest

from discernmem.decisions.llm import (
    DECISIONS,
    DIAGNOSIS,
    EXTRACTION,
    IDENTITY,
    REPAIR,
    SCOPE,
    SELECTION,
    Decision,
    Extraction,
    Identity,
    Listed,
    Problem,
    Selection,
    SelectionFacts,
)

EDIT = {"correction": "c", "operation": "ADD", "anchor": "a", "text": "t", "cited": ["with:s1"]}


@pytest.mark.parametrize(
    ("name", "limit", "change"),
    [
        ("extraction", 400, lambda text: {"rule": text}),
        ("extraction", 160, lambda text: {"use_when": [text]}),
        ("extraction", 160, lambda text: {"avoid_when": [text]}),
        ("scope check", 200, lambda text: {"boundary": text}),
        ("content diagnosis", 300, lambda text: {"description": text}),
        ("generalisation", 160, lambda text: {"use_when": [text]}),
        ("repair", 200, lambda text: {"edits": [EDIT | {"correction": text}]}),
        ("repair", 400, lambda text: {"edits": [EDIT | {"anchor": text}]}),
        ("repair", 400, lambda text: {"edits": [EDIT | {"text": text}]}),
    ],
)
def test_a_text_that_was_stopped_by_the_constraint_is_refused(
    facts: dict[str, Any],
    answers: dict[str, Any],
    read: Callable[..., Any],
    name: str,
    limit: int,
    change: Callable[[str], dict[str, Any]],
) -> None:
    """A constrained model must end a string at its bound; that is no shorter text."""
    assert not isinstance(read(name, **change("x" * limit)), Problem)
    assert isinstance(read(name, **change("x" * (limit + 1))), Problem)
    stopped = answers[name] | change("x" * (limit + 40))
    jsonschema.validate(stopped, DECISIONS[name].schema(facts[name]))


def test_a_reason_may_be_stopped_anywhere(facts: dict[str, Any], read: Callable[..., Any]) -> None:
    bound = IDENTITY.schema(facts["identity"])["properties"]["reason"]["maxLength"]
    assert read("identity", reason="x" * bound).reason == "x" * bound


def test_an_abstention_keeps_its_reason_and_nothing_else(read: Callable[..., Any]) -> None:
    assert read("extraction", store=False) == Extraction(store=False, reason="it checked")


@pytest.mark.parametrize("nothing", ["", "  ", "none", "N/A."])
def test_a_stored_rule_must_say_something(read: Callable[..., Any], nothing: str) -> None:
    assert read("extraction", rule=nothing) == Problem("rule: it is empty although store is true")


def test_a_condition_cannot_be_for_and_against_a_rule(read: Callable[..., Any]) -> None:
    found = read("extraction", avoid_when=["a door "])
    assert found == Problem("avoid_when: it repeats the use condition 'a door'")


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"rule": "x" * 401}, "rule: "),
        ({"use_when": ["x" * 161]}, "use_when[0]: "),
        ({"use_when": ["a", "b", "c", "d", "e"]}, "use_when: "),
        ({"avoid_when": ["a", "x" * 161]}, "avoid_when[1]: "),
    ],
)
def test_a_rule_beyond_its_limits_is_refused(
    read: Callable[..., Any], changed: dict[str, Any], place: str
) -> None:
    found = read("extraction", **changed)
    assert isinstance(found, Problem)
    assert found.message.startswith(place)
    assert found.message.endswith("is too long")


@pytest.mark.parametrize("none", ["none", "", " None "])
def test_no_match_is_an_empty_id(read: Callable[..., Any], none: str) -> None:
    assert read("identity", match=none) == Identity(matched="", reason="same steps")


def test_a_match_outside_the_list_is_refused(read: Callable[..., Any]) -> None:
    assert read("identity", match="m3") == Problem(
        "match: 'm3' is not in the list; take an id from it or \"none\""
    )


def test_unknown_ids_are_set_apart_from_the_selection(read: Callable[..., Any]) -> None:
    found = read("selection", selected=["m9", "m2", "m9", "x", "m4"])
    assert found == Selection(selected=("m4", "m2"), unknown=("m9", "x"), reason="fits")


def test_selecting_nothing_is_an_answer(read: Callable[..., Any]) -> None:
    assert read("selection", selected=[]) == Selection(selected=(), reason="fits")


@pytest.mark.parametrize("nothing", ["", " ", "None", "nothing."])
def test_a_word_for_no_boundary_is_no_boundary(read: Callable[..., Any], nothing: str) -> None:
    assert read("scope check", boundary=nothing).boundary == ""


def test_a_diagnosis_of_no_defect_has_an_empty_type(read: Callable[..., Any]) -> None:
    assert read("content diagnosis", defect="none").defect == ""


def test_an_unknown_defect_is_refused_by_name(read: Callable[..., Any]) -> None:
    found = read("content diagnosis", defect="bad_luck")
    assert isinstance(found, Problem)
    assert found.message.startswith("defect: 'bad_luck' is not one of ['missing_step', ")


def test_citing_a_step_that_was_not_shown_is_left_to_the_rules(read: Callable[..., Any]) -> None:
    assert read("content diagnosis", cited=["with:s99"]).cited == ("with:s99",)


def test_citing_more_than_eight_steps_is_refused(read: Callable[..., Any]) -> None:
    found = read("content diagnosis", cited=[f"with:s{n}" for n in range(9)])
    assert isinstance(found, Problem)
    assert found.message.startswith("cited: ")


def test_the_two_runs_have_distinct_ids_and_the_schema_lists_them(facts: dict[str, Any]) -> None:
    ids = ["none:s1", "none:s2", "with:s1", "with:s2"]
    assert list(facts["content diagnosis"].displayed_ids) == ids
    schema = DIAGNOSIS.schema(facts["content diagnosis"])
    assert schema["properties"]["cited"]["items"]["enum"] == ids


def test_a_repair_may_cite_the_source_run_too(facts: dict[str, Any]) -> None:
    assert facts["repair"].displayed_ids[:3] == ("source:s1", "source:s2", "none:s1")


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"operation": "NO_UPDATE"}, "edits[0].operation: 'NO_UPDATE' is not one of "),
        ({"anchor": ""}, "edits[0].anchor: "),
        ({"text": "x" * 401}, "edits[0].text: "),
        ({"cited": "with:s1"}, "edits[0].cited: 'with:s1' is not of type 'array'"),
    ],
)
def test_an_edit_out_of_shape_is_refused(
    read: Callable[..., Any], changed: dict[str, Any], place: str
) -> None:
    found = read("repair", edits=[EDIT | changed])
    assert isinstance(found, Problem)
    assert found.message.startswith(place)


def test_no_edit_is_an_answer(read: Callable[..., Any]) -> None:
    assert read("repair", edits=[]) == ()


def test_more_edits_than_asked_for_are_refused(read: Callable[..., Any]) -> None:
    assert len(read("repair", edits=[EDIT] * 2)) == 2
    found = read("repair", edits=[EDIT] * 3)
    assert isinstance(found, Problem)
    assert found.message.startswith("edits: ")


def test_an_edit_that_cites_what_was_not_shown_is_left_to_the_rules(
    read: Callable[..., Any],
) -> None:
    assert read("repair", edits=[EDIT | {"cited": ["with:s99"]}])[0].cited == ("with:s99",)


@pytest.mark.parametrize(
    ("decision", "changed"),
    [
        (SELECTION, {"candidates": ()}),
        (IDENTITY, {"candidates": ()}),
        (DIAGNOSIS, {"steps_with": (), "steps_without": ()}),
        (REPAIR, {"steps_with": (), "steps_without": (), "source_steps": ()}),
        (SCOPE, {"contexts": (), "use_when": (), "avoid_when": ()}),
        (EXTRACTION, {"role_messages": (), "outgoing": ()}),
    ],
)
def test_facts_without_parts_still_make_a_prompt_and_a_schema(
    facts: dict[str, Any], decision: Decision[Any, Any], changed: dict[str, Any]
) -> None:
    bare = attrs.evolve(facts[decision.name], **changed)
    jsonschema.Draft202012Validator.check_schema(decision.schema(bare))
    assert "(none)" in decision.prompt(bare).user


def test_an_earlier_round_only_extends_the_prompt_at_its_end(facts: dict[str, Any]) -> None:
    """The rounds of a repair share all they can, so that a model reads it once."""
    repair = facts["repair"]
    first = REPAIR.prompt(attrs.evolve(repair, feedback=())).user
    second = REPAIR.prompt(repair).user
    shared = first.index("EDITS TRIED BEFORE:")
    assert second[:shared] == first[:shared]


def test_the_prompt_of_a_selection_reads_like_this() -> None:
    facts = SelectionFacts(
        role="assistant",
        context="Find the key.\nplanner: look around",
        candidates=(Listed(memory="m3", body="Look under the mat.", use_when=("a mat",)),),
    )
    assert SELECTION.prompt(facts).user == (
        "SITUATION:\n"
        "> Find the key.\n"
        "> planner: look around\n"
        "\n"
        "TEAM MEMBER:\n"
        "> assistant\n"
        "\n"
        "RULES THE MEMBER REMEMBERS:\n"
        "[m3]\n"
        "> Look under the mat.\n"
        "use when:\n"
        "> a mat\n"
        "avoid when:\n"
        "(none)\n"
        "\n"
        "Answer with reason (in a few words) and selected (a list of ids from the rules above, "
        'such as ["m1"]).'
    )
