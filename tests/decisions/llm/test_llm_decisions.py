"""Each decision shows its facts, accepts a fitting answer, and names what is wrong with others."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import jsonschema
import pytest
from discernmem.decisions.attribution import UNKNOWN, Scope
from discernmem.decisions.edits import Edit
from discernmem.decisions.llm import (
    DECISIONS,
    DIAGNOSIS,
    EXTRACTION,
    IDENTITY,
    REPAIR,
    SCOPE,
    SELECTION,
    Decision,
    Diagnosis,
    DiagnosisFacts,
    Extraction,
    ExtractionFacts,
    Feedback,
    GeneralisationFacts,
    Identity,
    IdentityFacts,
    Listed,
    Problem,
    Prompt,
    RepairFacts,
    ScopeFacts,
    Selection,
    SelectionFacts,
    Step,
    parse,
    reask,
)
from discernmem.eventlog.events import Capability
from hypothesis import given
from hypothesis import strategies as st

Answer = dict[str, Any]


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


FACTS = samples(lambda name: name)

EDIT = {
    "correction": "looks first",
    "operation": "ADD",
    "anchor": "the-body ",
    "text": " after looking",
    "cited": ["with:s1", "none:s2", "with:s1"],
}
ANSWERS: dict[str, Answer] = {
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
VALUES: dict[str, object] = {
    "extraction": Extraction(
        store=True, body="Check the door.", use_when=("a door",), reason="it checked"
    ),
    "identity": Identity(matched="m11", reason="same steps"),
    "selection": Selection(selected=("m4", "m2"), reason="fits"),
    "scope check": Scope(use=False, avoid=False, boundary="no door"),
    "content diagnosis": Diagnosis(
        defect="missing_progress_check",
        description="It repeats.",
        cited=("with:s1", "none:s2"),
        reason="it loops",
    ),
    "generalisation": ("a door is shut",),
    "repair": (
        Edit(
            operation="ADD",
            anchor="the-body ",
            text=" after looking",
            cited=("with:s1", "none:s2"),
            correction="looks first",
        ),
    ),
}
FALLBACKS: dict[str, object] = {
    "extraction": Extraction(store=False),
    "identity": Identity(matched=""),
    "selection": Selection(selected=("m4", "m11", "m2")),
    "scope check": UNKNOWN,
    "content diagnosis": Diagnosis(defect="", description="", cited=()),
    "generalisation": (),
    "repair": (),
}

every_decision = pytest.mark.parametrize("name", list(DECISIONS))


def read(name: str, **changed: object) -> Any:
    return parse(DECISIONS[name], FACTS[name], json.dumps(ANSWERS[name] | changed))


def schema_nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        yield from schema_nodes(inner)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(each) for each in value] if isinstance(value, list) else value


def strings(value: Any) -> Iterator[str]:
    if attrs.has(type(value)):
        value = attrs.asdict(value, recurse=False).values()
    if isinstance(value, str):
        yield value
    elif not isinstance(value, int | float):
        for each in value:
            yield from strings(each)


# -- what holds for all seven ------------------------------------------------------------------


def test_the_seven_decisions_have_the_names_that_the_log_records() -> None:
    assert list(DECISIONS) == list(FACTS)
    assert all(decision.name == name for name, decision in DECISIONS.items())


@every_decision
def test_a_fitting_answer_is_read(name: str) -> None:
    assert read(name) == VALUES[name]


@every_decision
def test_the_order_of_keys_does_not_matter(name: str) -> None:
    text = json.dumps(reversed_keys(ANSWERS[name]))
    assert parse(DECISIONS[name], FACTS[name], text) == VALUES[name]


@every_decision
def test_the_fallback_is_the_documented_one(name: str) -> None:
    assert DECISIONS[name].fallback(FACTS[name]) == FALLBACKS[name]


@every_decision
def test_both_schemas_are_valid_and_take_a_fitting_answer(name: str) -> None:
    for schema in (DECISIONS[name].schema(FACTS[name]), DECISIONS[name].accepts(FACTS[name])):
        jsonschema.Draft202012Validator.check_schema(schema)
    # Repeating an id is the one thing the stricter schema has no say in.
    jsonschema.validate(ANSWERS[name], DECISIONS[name].accepts(FACTS[name]))
    jsonschema.validate(ANSWERS[name], DECISIONS[name].schema(FACTS[name]))


@every_decision
def test_schemas_bound_every_part_and_let_the_reason_come_first(name: str) -> None:
    for schema in (DECISIONS[name].schema(FACTS[name]), DECISIONS[name].accepts(FACTS[name])):
        assert next(iter(schema["properties"])) == "reason"
        for node in schema_nodes(schema):
            kind = node["type"]
            if kind == "object":
                assert node["additionalProperties"] is False
                assert node["required"] == list(node["properties"])
            elif kind == "array":
                assert isinstance(node["maxItems"], int)
            elif kind == "string":
                assert "enum" in node or isinstance(node["maxLength"], int)


@every_decision
def test_an_answer_to_the_strict_schema_always_satisfies_the_other(name: str) -> None:
    """``accepts`` only ever lifts a list of ids or a count of them."""
    strict = list(schema_nodes(DECISIONS[name].schema(FACTS[name])))
    accepts = list(schema_nodes(DECISIONS[name].accepts(FACTS[name])))
    for narrow, wide in zip(strict, accepts, strict=True):
        if narrow != wide and "enum" in narrow:
            assert all(len(each) <= wide["maxLength"] for each in narrow["enum"])
        elif narrow.get("maxItems") != wide.get("maxItems"):
            assert narrow["maxItems"] <= wide["maxItems"]


@every_decision
def test_a_missing_field_is_named(name: str) -> None:
    for field in ANSWERS[name]:
        answer = {key: value for key, value in ANSWERS[name].items() if key != field}
        found = parse(DECISIONS[name], FACTS[name], json.dumps(answer))
        assert found == Problem(f"the object: '{field}' is a required property")


@every_decision
def test_a_field_of_the_wrong_type_is_named(name: str) -> None:
    for field in ANSWERS[name]:
        found = read(name, **{field: 7})
        assert isinstance(found, Problem)
        assert found.message.startswith(f"{field}: 7 is not ")


@every_decision
def test_an_additional_field_is_named(name: str) -> None:
    found = read(name, confidence=0.9)
    assert isinstance(found, Problem)
    assert "'confidence' was unexpected" in found.message


@every_decision
def test_an_endless_reason_is_refused_in_one_short_line(name: str) -> None:
    found = read(name, reason="so\n" * 5000)
    assert isinstance(found, Problem)
    assert found.message.startswith("reason: ")
    assert found.message.endswith("is too long")
    assert len(found.message) <= 240


@every_decision
def test_the_schema_as_answer_is_refused(name: str) -> None:
    text = json.dumps(DECISIONS[name].schema(FACTS[name]))
    found = parse(DECISIONS[name], FACTS[name], text)
    assert found == Problem("the answer is the schema itself, not an object that follows it")


@every_decision
def test_the_question_names_every_field_of_the_answer(name: str) -> None:
    question = DECISIONS[name].prompt(FACTS[name]).user.split("\n\n")[-1]
    for node in schema_nodes(DECISIONS[name].schema(FACTS[name])):
        for field in node.get("properties", {}):
            assert field in question


@every_decision
def test_every_word_a_field_is_limited_to_is_in_the_prompt(name: str) -> None:
    prompt = DECISIONS[name].prompt(FACTS[name])
    for node in schema_nodes(DECISIONS[name].schema(FACTS[name])):
        for word in node.get("enum", ()):
            assert word in prompt.system + prompt.user


@every_decision
def test_instructions_stay_short(name: str) -> None:
    assert len(DECISIONS[name].prompt(FACTS[name]).system.split()) <= 180


@every_decision
def test_every_fact_is_shown_and_every_free_text_is_quoted(name: str) -> None:
    lines = DECISIONS[name].prompt(FACTS[name]).user.splitlines()
    quoted = {line.removeprefix("> ") for line in lines if line.startswith("> ")}
    unquoted = "\n".join(line for line in lines if not line.startswith("> "))
    hidden = {"q9"}  # the tasks behind a capability mean nothing to a model
    for text in strings(FACTS[name]):
        plain = "-" not in text  # ids, names of team members, words of the vocabulary
        assert text in hidden or (text in unquoted if plain else text in quoted)


@every_decision
def test_numbers_are_shown(name: str) -> None:
    numbers = [each for each in attrs.astuple(FACTS[name], recurse=False) if type(each) is float]
    shown = DECISIONS[name].prompt(FACTS[name]).user
    assert all(f"{number:g}" in shown for number in numbers)


@given(st.text(min_size=1))
def test_no_text_can_leave_its_quotation(text: str) -> None:
    """Whatever the texts say, the lines outside the quotations stay the same."""
    changed = samples(lambda _: text)
    harmless = samples(lambda _: "x")
    for name, decision in DECISIONS.items():
        lines, expected = (
            [line for line in each.splitlines() if not line.startswith("> ")]
            for each in (decision.prompt(changed[name]).user, decision.prompt(harmless[name]).user)
        )
        assert lines == expected


@every_decision
def test_equal_facts_give_equal_bytes(name: str) -> None:
    again = samples(lambda name: "".join(name))
    assert DECISIONS[name].prompt(FACTS[name]) == DECISIONS[name].prompt(again[name])
    assert json.dumps(DECISIONS[name].schema(FACTS[name])) == json.dumps(
        DECISIONS[name].schema(copy.deepcopy(FACTS[name]))
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | json_values.map(json.dumps))
def test_no_text_makes_parsing_raise(text: str) -> None:
    for name, decision in DECISIONS.items():
        assert isinstance(parse(decision, FACTS[name], text), Problem)


@given(st.sampled_from(list(DECISIONS)), st.data())
def test_no_value_of_a_field_makes_parsing_raise(name: str, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(list(ANSWERS[name])))
    found = read(name, **{field: data.draw(json_values)})
    assert isinstance(found, Problem | type(VALUES[name]))


# -- re-asking ---------------------------------------------------------------------------------


def test_a_re_ask_shows_the_answer_and_says_what_was_wrong() -> None:
    messages = reask(Prompt("be brief", "why?"), '{"a":', Problem("it is cut off"), 1)
    assert messages == (
        ("system", "be brief"),
        ("user", "why?"),
        ("assistant", '{"a":'),
        (
            "user",
            "Answer 1 cannot be used: it is cut off. "
            "Answer the same question again with one JSON object and nothing else.",
        ),
    )


def test_every_re_ask_is_another_request_even_for_the_same_answer() -> None:
    prompt = Prompt("be brief", "why?")
    asked = [reask(prompt, "because", Problem("no object"), attempt) for attempt in (1, 2, 3)]
    assert len({prompt.messages, *asked}) == 4


def test_a_re_ask_clips_a_long_answer_and_never_sends_an_empty_message() -> None:
    prompt = Prompt("be brief", "why?")
    long, empty = (reask(prompt, text, Problem("bad"), 1)[2][1] for text in ("x" * 9000, ""))
    assert len(long) <= 2000
    assert empty == "(no answer)"


# -- each decision's own reading ---------------------------------------------------------------


def test_an_abstention_keeps_its_reason_and_nothing_else() -> None:
    assert read("extraction", store=False) == Extraction(store=False, reason="it checked")


@pytest.mark.parametrize("nothing", ["", "  ", "none", "N/A."])
def test_a_stored_rule_must_say_something(nothing: str) -> None:
    assert read("extraction", rule=nothing) == Problem("rule: it is empty although store is true")


def test_a_condition_cannot_be_for_and_against_a_rule() -> None:
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
def test_a_rule_beyond_its_limits_is_refused(changed: Answer, place: str) -> None:
    found = read("extraction", **changed)
    assert isinstance(found, Problem)
    assert found.message.startswith(place)
    assert found.message.endswith("is too long")


@pytest.mark.parametrize("none", ["none", "", " None "])
def test_no_match_is_an_empty_id(none: str) -> None:
    assert read("identity", match=none) == Identity(matched="", reason="same steps")


def test_a_match_outside_the_list_is_refused() -> None:
    assert read("identity", match="m3") == Problem(
        "match: 'm3' is not in the list; take an id from it or \"none\""
    )


def test_unknown_ids_are_set_apart_from_the_selection() -> None:
    found = read("selection", selected=["m9", "m2", "m9", "x", "m4"])
    assert found == Selection(selected=("m4", "m2"), unknown=("m9", "x"), reason="fits")


def test_selecting_nothing_is_an_answer() -> None:
    assert read("selection", selected=[]) == Selection(selected=(), reason="fits")


@pytest.mark.parametrize("nothing", ["", " ", "None", "nothing."])
def test_a_word_for_no_boundary_is_no_boundary(nothing: str) -> None:
    assert read("scope check", boundary=nothing).boundary == ""


def test_a_diagnosis_of_no_defect_has_an_empty_type() -> None:
    assert read("content diagnosis", defect="none").defect == ""


def test_an_unknown_defect_is_refused_by_name() -> None:
    found = read("content diagnosis", defect="bad_luck")
    assert isinstance(found, Problem)
    assert found.message.startswith("defect: 'bad_luck' is not one of ['missing_step', ")


def test_citing_a_step_that_was_not_shown_is_left_to_the_rules() -> None:
    assert read("content diagnosis", cited=["with:s99"]).cited == ("with:s99",)


def test_citing_more_than_eight_steps_is_refused() -> None:
    found = read("content diagnosis", cited=[f"with:s{n}" for n in range(9)])
    assert isinstance(found, Problem)
    assert found.message.startswith("cited: ")


def test_the_two_runs_have_distinct_ids_and_the_schema_lists_them() -> None:
    ids = ["none:s1", "none:s2", "with:s1", "with:s2"]
    assert list(FACTS["content diagnosis"].displayed_ids) == ids
    schema = DIAGNOSIS.schema(FACTS["content diagnosis"])
    assert schema["properties"]["cited"]["items"]["enum"] == ids


def test_a_repair_may_cite_the_source_run_too() -> None:
    assert FACTS["repair"].displayed_ids[:3] == ("source:s1", "source:s2", "none:s1")


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"operation": "NO_UPDATE"}, "edits[0].operation: 'NO_UPDATE' is not one of "),
        ({"anchor": ""}, "edits[0].anchor: "),
        ({"text": "x" * 401}, "edits[0].text: "),
        ({"cited": "with:s1"}, "edits[0].cited: 'with:s1' is not of type 'array'"),
    ],
)
def test_an_edit_out_of_shape_is_refused(changed: Answer, place: str) -> None:
    found = read("repair", edits=[EDIT | changed])
    assert isinstance(found, Problem)
    assert found.message.startswith(place)


def test_no_edit_is_an_answer() -> None:
    assert read("repair", edits=[]) == ()


def test_more_edits_than_asked_for_are_refused() -> None:
    assert len(read("repair", edits=[EDIT] * 2)) == 2
    found = read("repair", edits=[EDIT] * 3)
    assert isinstance(found, Problem)
    assert found.message.startswith("edits: ")


def test_an_edit_that_cites_what_was_not_shown_is_left_to_the_rules() -> None:
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
    decision: Decision[Any, Any], changed: Answer
) -> None:
    bare = attrs.evolve(FACTS[decision.name], **changed)
    jsonschema.Draft202012Validator.check_schema(decision.schema(bare))
    assert "(none)" in decision.prompt(bare).user


def test_an_earlier_round_only_extends_the_prompt_at_its_end() -> None:
    """The rounds of a repair share all they can, so that a model reads it once."""
    facts = FACTS["repair"]
    first = REPAIR.prompt(attrs.evolve(facts, feedback=())).user
    second = REPAIR.prompt(facts).user
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
        "Answer with reason (in a few words) and selected (a list of ids from the rules above)."
    )
