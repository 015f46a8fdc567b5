"""The one JSON object in an answer is found, or refused with a reason, and never changed."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.llm.parsing import DEPTH_LIMIT, Problem, extract_object

ANSWER = {"reason": "r", "use": True}
BARE = '{"reason": "r", "use": true}'

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(storable, storable | st.booleans() | st.lists(storable), min_size=1)


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        f"  \n{BARE}\n",
        f"Sure! Here it is: {BARE} I hope it helps.",
        f"```json\n{BARE}\n```",
        f"The {{placeholder}} and {{'python': 1}} are prose. {BARE}",
        f'<think>perhaps {{"reason": "no"}}</think>{BARE}',
        f"<think>a <think>b</think> c</think>{BARE}",
        f'it was opened in the prompt: {{"a": 1}} and {{"b" </think>\n{BARE}',
        f"{BARE}\n<think>checking {{it}}</think>",
        f"{BARE}\n<think>never ends {BARE}",
        f"[THINK]hm[/THINK]{BARE}",
        f"<Reasoning>hm</Reasoning>\n```\n{BARE}\n```",
    ],
)
def test_an_object_is_found_behind_reasoning_in_prose_and_in_fences(text: str) -> None:
    assert extract_object(text) == ANSWER


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<think>x</think>"])
def test_a_reasoning_tag_inside_a_string_is_content_of_a_bare_object(tag: str) -> None:
    assert extract_object(json.dumps({"rule": f"say {tag} first"})) == {"rule": f"say {tag} first"}


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<think>x</think>"])
def test_a_reasoning_tag_inside_a_string_never_shortens_it(tag: str) -> None:
    fenced = "```\n" + json.dumps({"rule": f"say {tag} first"}) + "\n```"
    assert isinstance(extract_object(fenced), Problem)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("I cannot tell.", "no JSON object"),
        ("<think>so " + BARE, "only reasoning"),
        ("<think>so</think>", "only reasoning"),
        ('"' + BARE.replace('"', '\\"') + '"', "no JSON object"),
        ("[" + BARE + "]", "is a list"),
        ("42", "no JSON object"),
        (BARE + BARE, "more than one"),
        (f"{BARE} or rather {BARE}", "more than one"),
        (BARE[:-1], "cut off"),
        ('{"reason": "r", "rule": "Check the do', "cut off"),
        ('{"reason": "r", "rule": "a \\', "cut off"),
        ('{"reason": "r",', "cut off"),
        (BARE + ' {"reason": "again', "cut off"),
        ('```json\n{"reason": "r", "rule": "Check\n```', "invalid"),
        ('{"reason": "r" "use": true}', "invalid"),
        ('{"reason": "r", "use": True}', "invalid"),
        ('{"reason": "r", "use": true,}', "invalid"),
        ('{"reason": "r"]', "invalid"),
        ('{"use": true, "use": false}', "'use' occurs twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' occurs twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "not finite"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ('{"a": "\\u0000"}', "cannot be stored"),
        ('{"a": ["\\ud800"]}', "cannot be stored"),
        ('{"\\udc00": 1}', "cannot be stored"),
        ('{"a": ' + "[" * 100_000, "nested"),
        ('{"a": ' + "[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT + "}", "nested"),
        ('{"$schema": "x", "title": "y"}', "schema itself"),
        ('{"type": "object", "properties": {"use": {"type": "boolean"}}}', "schema itself"),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(text: str, named: str) -> None:
    found = extract_object(text)
    assert isinstance(found, Problem)
    assert named in found.message
    assert "\n" not in found.message


def test_nesting_up_to_the_limit_is_accepted() -> None:
    depth = DEPTH_LIMIT - 1
    assert isinstance(extract_object('{"a": ' + "[" * depth + "]" * depth + "}"), dict)


@given(st.text() | json_values.map(json.dumps))
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(extract_object(text), dict | Problem)


@given(st.lists(st.sampled_from(['{"', "{", "}", '"', "a", ":", "[", "]", "\\", "<think>",
                                 "</think>", "\n", ",", "1"])))  # fmt: skip
def test_no_debris_of_an_answer_makes_it_raise(pieces: list[str]) -> None:
    assert isinstance(extract_object("".join(pieces)), dict | Problem)


@given(objects, st.text("abc .,:'\n`", max_size=20), st.text("abc .,:'\n`", max_size=20))
def test_an_object_comes_out_of_prose_as_it_went_in(
    value: dict[str, object], before: str, after: str
) -> None:
    assert extract_object(f"{before}{json.dumps(value)}{after}") == value


@given(objects, st.integers(min_value=1, max_value=30))
def test_an_object_without_its_end_is_never_accepted(value: dict[str, object], cut: int) -> None:
    text = json.dumps(value)
    assert isinstance(extract_object(text[: max(0, len(text) - cut)]), Problem)


@pytest.mark.parametrize(
    "piece", ['{"', "{", '{"a":[', "<think>", "</think>", '"', '\\"', "{}", "{ ", '{"a":1}', "[{"]
)
def test_the_work_grows_linearly_with_the_answer(piece: str) -> None:
    text = piece * 100_000
    start = time.process_time()
    assert isinstance(extract_object(text), Problem)
    # A quadratic reader needs minutes here; the bound only has to tell the two apart.
    assert time.process_time() - start < 5
