"""Each decision shows its facts, accepts a fitting answer, and names what is wrong with others."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.attribution import UNKNOWN, Scope
from discernmem.decisions.edits import Edit
from discernmem.decisions.llm import (
    DECISIONS,
    Diagnosis,
    Extraction,
    Identity,
    Problem,
    Prompt,
    Selection,
    parse,
    reask,
)

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


def test_the_seven_decisions_have_the_names_that_the_log_records(facts: dict[str, Any]) -> None:
    assert list(DECISIONS) == list(facts)
    assert all(decision.name == name for name, decision in DECISIONS.items())


@every_decision
def test_a_fitting_answer_is_read(read: Callable[..., Any], name: str) -> None:
    assert read(name) == VALUES[name]


@every_decision
def test_the_order_of_keys_does_not_matter(
    facts: dict[str, Any], answers: dict[str, Any], name: str
) -> None:
    text = json.dumps(reversed_keys(answers[name]))
    assert parse(DECISIONS[name], facts[name], text) == VALUES[name]


@every_decision
def test_the_fallback_is_the_documented_one(facts: dict[str, Any], name: str) -> None:
    assert DECISIONS[name].fallback(facts[name]) == FALLBACKS[name]


@every_decision
def test_both_schemas_are_valid_and_take_a_fitting_answer(
    facts: dict[str, Any], answers: dict[str, Any], name: str
) -> None:
    for schema in (DECISIONS[name].schema(facts[name]), DECISIONS[name].accepts(facts[name])):
        jsonschema.Draft202012Validator.check_schema(schema)
    # Repeating an id is the one thing the stricter schema has no say in.
    jsonschema.validate(answers[name], DECISIONS[name].accepts(facts[name]))
    jsonschema.validate(answers[name], DECISIONS[name].schema(facts[name]))


@every_decision
def test_schemas_bound_every_part_and_let_the_reason_come_first(
    facts: dict[str, Any], name: str
) -> None:
    for schema in (DECISIONS[name].schema(facts[name]), DECISIONS[name].accepts(facts[name])):
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
def test_a_missing_field_is_named(
    facts: dict[str, Any], answers: dict[str, Any], name: str
) -> None:
    for field in answers[name]:
        answer = {key: value for key, value in answers[name].items() if key != field}
        found = parse(DECISIONS[name], facts[name], json.dumps(answer))
        assert found == Problem(f"the object: '{field}' is a required property")


@every_decision
def test_a_field_of_the_wrong_type_is_named(
    answers: dict[str, Any], read: Callable[..., Any], name: str
) -> None:
    for field in answers[name]:
        found = read(name, **{field: 7})
        assert isinstance(found, Problem)
        assert found.message.startswith(f"{field}: 7 is not ")


@every_decision
def test_an_additional_field_is_named(read: Callable[..., Any], name: str) -> None:
    found = read(name, confidence=0.9)
    assert isinstance(found, Problem)
    assert "'confidence' was unexpected" in found.message


@every_decision
def test_an_endless_reason_is_refused_in_one_short_line(
    read: Callable[..., Any], name: str
) -> None:
    found = read(name, reason="so\n" * 5000)
    assert isinstance(found, Problem)
    assert found.message.startswith("reason: ")
    assert found.message.endswith("is too long")
    assert len(found.message) <= 240


@every_decision
def test_the_schema_as_answer_is_refused(facts: dict[str, Any], name: str) -> None:
    text = json.dumps(DECISIONS[name].schema(facts[name]))
    found = parse(DECISIONS[name], facts[name], text)
    assert found == Problem("the answer is the schema itself, not an object that follows it")


@every_decision
def test_the_question_names_every_field_of_the_answer(facts: dict[str, Any], name: str) -> None:
    question = DECISIONS[name].prompt(facts[name]).user.split("\n\n")[-1]
    for node in schema_nodes(DECISIONS[name].schema(facts[name])):
        for field in node.get("properties", {}):
            assert field in question


@every_decision
def test_every_word_a_field_is_limited_to_is_in_the_prompt(
    facts: dict[str, Any], name: str
) -> None:
    prompt = DECISIONS[name].prompt(facts[name])
    for node in schema_nodes(DECISIONS[name].schema(facts[name])):
        for word in node.get("enum", ()):
            assert word in prompt.system + prompt.user


@every_decision
def test_instructions_stay_short(facts: dict[str, Any], name: str) -> None:
    assert len(DECISIONS[name].prompt(facts[name]).system.split()) <= 240


@every_decision
def test_every_fact_is_shown_and_every_free_text_is_quoted(
    facts: dict[str, Any], name: str
) -> None:
    lines = DECISIONS[name].prompt(facts[name]).user.splitlines()
    quoted = {line.removeprefix("> ") for line in lines if line.startswith("> ")}
    unquoted = "\n".join(line for line in lines if not line.startswith("> "))
    hidden = {"q9"}  # the tasks behind a capability mean nothing to a model
    for text in strings(facts[name]):
        plain = "-" not in text  # ids, names of team members, words of the vocabulary
        assert text in hidden or (text in unquoted if plain else text in quoted)


@every_decision
def test_numbers_are_shown(facts: dict[str, Any], name: str) -> None:
    numbers = [each for each in attrs.astuple(facts[name], recurse=False) if type(each) is float]
    shown = DECISIONS[name].prompt(facts[name]).user
    assert all(f"{number:g}" in shown for number in numbers)


@given(st.text(min_size=1))
def test_no_text_can_leave_its_quotation(make_facts: Callable[..., Any], text: str) -> None:
    """Whatever the texts say, the lines outside the quotations stay the same."""
    changed = make_facts(lambda _: text)
    harmless = make_facts(lambda _: "x")
    for name, decision in DECISIONS.items():
        lines, expected = (
            [line for line in each.splitlines() if not line.startswith("> ")]
            for each in (decision.prompt(changed[name]).user, decision.prompt(harmless[name]).user)
        )
        assert lines == expected


@every_decision
def test_equal_facts_give_equal_bytes(
    facts: dict[str, Any], make_facts: Callable[..., Any], name: str
) -> None:
    again = make_facts(lambda name: "".join(name))
    assert DECISIONS[name].prompt(facts[name]) == DECISIONS[name].prompt(again[name])
    assert json.dumps(DECISIONS[name].schema(facts[name])) == json.dumps(
        DECISIONS[name].schema(copy.deepcopy(facts[name]))
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | json_values.map(json.dumps))
def test_no_text_makes_parsing_raise(facts: dict[str, Any], text: str) -> None:
    for name, decision in DECISIONS.items():
        assert isinstance(parse(decision, facts[name], text), Problem)


@given(st.sampled_from(list(DECISIONS)), st.data())
def test_no_value_of_a_field_makes_parsing_raise(
    answers: dict[str, Any], read: Callable[..., Any], name: str, data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(list(answers[name])))
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
