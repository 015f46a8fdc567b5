from __future__ import annotations

import json
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.eventlog import canonical, decode, digest, digest_json, encode, plain
from discernmem.eventlog import events as ev
from discernmem.eventlog.citations import citations
from discernmem.eventlog.errors import LogError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
INTEGER = st.integers(-(2**63), 2**64 - 1)
SCALAR = st.none() | st.booleans() | INTEGER | FINITE | TEXT
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PRIMITIVE = {str: TEXT, int: INTEGER, float: FINITE, bool: st.booleans(), Any: JSON}


def strategy(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated field, from the annotation alone."""
    if annotation in PRIMITIVE:
        return PRIMITIVE[annotation]
    if annotation is ev.BlobRef:
        return st.binary(max_size=2).map(digest)
    if attrs.has(annotation):
        return records(annotation)
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return st.sampled_from(arguments)
    if get_origin(annotation) is tuple:
        return st.lists(strategy(arguments[0]), max_size=3).map(tuple)
    if get_origin(annotation) is dict:
        return st.dictionaries(TEXT, strategy(arguments[1]), max_size=3)
    return st.one_of([st.none() if a is type(None) else strategy(a) for a in arguments])


def records(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    fields = {field.name: strategy(hints[field.name]) for field in attrs.fields(cls)}
    return st.builds(cls, **fields)


def example(name: str, **fields: Any) -> ev.Event:
    reply = {
        "request": "r",
        "purpose": "role",
        "role": None,
        "messages": (),
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 1,
        "seed": 1,
        "schema": None,
        "text": "x",
        "text_blob": None,
        "finish": "stop",
        "prompt_tokens": 1,
        "completion_tokens": 1,
    }
    transition = {
        "memory": "m1",
        "version": 1,
        "before": "active",
        "after": "inactive",
        "rule": "failed repair",
        "evidence": (),
    }
    base = {"ModelReplied": reply, "StateChanged": transition}[name]
    return ev.EVENT_TYPES[name](**(base | fields))


def altered(name: str, **fields: Any) -> bytes:
    return orjson.dumps(plain(example(name)) | fields)


# -- canonical JSON ----------------------------------------------------------------------------


@given(JSON)
def test_canonical_json_says_the_same_in_sorted_compact_utf8(value: Any) -> None:
    data = canonical(value)
    assert orjson.loads(data) == value
    assert canonical(orjson.loads(data)) == data
    keys: list[list[str]] = []
    json.loads(data, object_pairs_hook=lambda pairs: keys.append([key for key, _ in pairs]))
    assert all(names == sorted(names) for names in keys)


@given(st.dictionaries(TEXT, SCALAR, max_size=5))
def test_canonical_json_does_not_depend_on_the_order_of_insertion(value: dict[str, Any]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical(backwards) == canonical(value)
    assert digest_json(backwards) == digest(canonical(value))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1.0, math.nan]}, r"\$\.a\.1: nan is not a finite number"),
        ((None, math.inf), r"\$\.1: inf is not a finite number"),
        ({"a": {"b": 2**64}}, r"\$\.a\.b: integer beyond 64 bits"),
        ([-(2**63) - 1], r"\$\.0: integer beyond 64 bits"),
        ({"a": "x\ud800"}, r"\$\.a: text with a lone surrogate"),
        ({"\udfff": 1}, r"\$\..*: text with a lone surrogate"),
        ({1: 2}, r"\$: key 1 is not text"),
        ([{1, 2}], r"\$\.0: set is not JSON"),
        ({"a": b"x"}, r"\$\.a: bytes is not JSON"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ValueError, match=path):
        canonical(value)


def test_the_word_null_in_a_text_is_no_reason_to_refuse() -> None:
    assert canonical({"b": None, "a": ["null", 1.5]}) == b'{"a":["null",1.5],"b":null}'


# -- events ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ev.EVENT_TYPES))
def test_every_event_comes_back_exactly_as_it_was(name: str) -> None:
    cls = ev.EVENT_TYPES[name]

    @settings(max_examples=25, deadline=None)
    @given(records(cls))
    def check(event: ev.Event) -> None:
        payload = encode(event)
        back = decode(name, cls.SCHEMA_VERSION, payload)
        assert back == event
        assert encode(back) == payload == canonical(plain(event))

    check()


def test_a_whole_float_stays_a_float() -> None:
    payload = encode(example("ModelReplied", temperature=1.0))
    assert b'"temperature":1.0' in payload
    back = decode("ModelReplied", 2, payload)
    assert isinstance(back, ev.ModelReplied)
    assert type(back.temperature) is float


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"seed": True}, "expected int, got bool @ ModelReplied.seed"),
        ({"seed": "7"}, "expected int, got str @ ModelReplied.seed"),
        ({"seed": 7.0}, "expected int, got float @ ModelReplied.seed"),
        ({"temperature": 0}, "expected float, got int @ ModelReplied.temperature"),
        ({"temperature": None}, "expected float, got NoneType @ ModelReplied.temperature"),
        ({"finish": None}, "expected str, got NoneType @ ModelReplied.finish"),
        ({"role": 3}, "expected str, got int @ ModelReplied.role"),
        ({"messages": "abc"}, "expected a list, got str @ ModelReplied.messages"),
        ({"messages": [{"role": "user"}]}, r"missing field @ ModelReplied.messages\[0\].content"),
        (
            {"messages": [{"role": "user", "content": None}]},
            r"expected str, got NoneType @ ModelReplied.messages\[0\].content",
        ),
        ({"schema": 7}, "expected str, got int @ ModelReplied.schema"),
        ({"extra": 1}, "unexpected fields extra @ ModelReplied"),
    ],
)
def test_nothing_is_coerced_and_the_field_is_named(fields: Any, complaint: str) -> None:
    with pytest.raises(LogError, match=complaint):
        decode("ModelReplied", 2, altered("ModelReplied", **fields))


def test_a_missing_field_is_named() -> None:
    fields = plain(example("ModelReplied"))
    del fields["seed"], fields["text"]
    with pytest.raises(LogError, match=r"missing field @ ModelReplied.seed.*ModelReplied.text"):
        decode("ModelReplied", 2, orjson.dumps(fields))


@pytest.mark.parametrize("value", ["asleep", None, 1, ["active"], {}])
def test_a_word_outside_its_list_is_refused(value: Any) -> None:
    with pytest.raises(LogError, match=r"expected one of active, inactive.* @ StateChanged.after"):
        decode("StateChanged", 1, altered("StateChanged", after=value))


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"\xff", b'"text"'])
def test_a_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    with pytest.raises(LogError, match="StateChanged: the payload is not readable"):
        decode("StateChanged", 1, payload)


def test_an_unknown_type_stops() -> None:
    with pytest.raises(LogError, match="unknown event type 'MemoryDreamt'"):
        decode("MemoryDreamt", 1, b"{}")


@pytest.mark.parametrize("version", [0, 3, -1])
def test_a_version_this_code_does_not_know_is_refused_with_both(version: int) -> None:
    with pytest.raises(LogError, match=f"schema version {version} in the log.* up to 2"):
        decode("ModelReplied", version, b"{}")


def test_encoding_names_the_field_that_is_not_json() -> None:
    with pytest.raises(ValueError, match=r"ModelReplied: .*\$\.temperature: nan"):
        encode(example("ModelReplied", temperature=math.nan))


def test_no_number_of_a_record_inside_an_event_turns_into_null() -> None:
    near = ev.Candidate(memory="m1", similarity=math.inf)
    event = ev.MemoriesRetrieved(
        index=1, task="t", role="r", context=ev.BlobRef("c"), candidates=(near,)
    )
    with pytest.raises(ValueError, match=r"MemoriesRetrieved: .*\.candidates\.0\.similarity: inf"):
        encode(event)


def test_citations_are_the_blob_fields_by_their_path() -> None:
    a, b, c = (ev.BlobRef(digest(bytes([n]))) for n in range(3))
    event = example(
        "ModelReplied",
        messages=(ev.MessageRef(role="system", content=a), ev.MessageRef(role="user", content=b)),
        text=None,
        text_blob=c,
    )
    assert citations(event) == {"messages.0.content": a, "messages.1.content": b, "text_blob": c}
    assert citations(example("StateChanged")) == {}
