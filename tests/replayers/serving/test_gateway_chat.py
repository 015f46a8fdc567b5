"""The chat protocol: what a role's address understands, what it refuses, what it answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateways import Echo, drive, gateway_host
from hypothesis import given
from hypothesis import strategies as st

from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.hosts.base import Played, Spoken, Turn
from discernmem.replayers.models.base import Message
from discernmem.replayers.serving.chat import cut, read_request
from discernmem.replayers.serving.errors import NotServed
from discernmem.replayers.serving.memories import context_of, with_block

HELLO = {"role": "user", "content": "hello"}
SCHEMA = {"type": "object", "properties": {"move": {"enum": ["up", "down"]}}}


def nested(levels: int) -> dict[str, Any]:
    """A schema inside a schema, and so on."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inside": schema}}
    return schema


def request(*messages: Any, **more: Any) -> bytes:
    return json.dumps({"messages": messages or [HELLO], **more}).encode()


def exchange(
    folder: Path, bodies: dict[str, bytes], stage: Any = None
) -> tuple[dict[str, httpx.Response], Played]:
    """What the writer's address answers to each body, in one pass."""
    answers = {}

    def driver(url: str) -> None:
        with httpx.Client(timeout=None, trust_env=False) as client:
            work = client.get(f"{url}/next").json()
            for name, body in bodies.items():
                role = work["roles"]["writer"]
                answers[name] = client.post(f"{role}/chat/completions", content=body)
            client.post(f"{url}/run/{work['run']}/answer", json={"answer": "right"})

    played = drive(gateway_host(), stage or Echo(), driver, folder)
    return answers, played


# -- requests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "json_object", "schema": SCHEMA}, SCHEMA),
        ({"type": "json_schema", "json_schema": {"name": "m", "schema": SCHEMA}}, SCHEMA),
    ],
)
def test_every_dialect_of_a_schema_is_understood(form: Any, schema: Any) -> None:
    assert read_request(request(response_format=form)).schema == schema


def test_what_tools_gave_reads_like_text_without_the_ids_that_were_drawn() -> None:
    called = {"id": "call_x7", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = read_request(
        request(
            HELLO,
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "call_x7", "content": "a jar"},
            tools=[{"type": "function", "function": {"name": "look"}}],
        )
    )
    assert asked.messages == (
        Message("user", "hello"),
        Message("assistant", "Called look({})"),
        Message("user", "Result of look:\na jar"),
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "must be a JSON object"),
        (b"{}", "messages must be a list"),
        (b'{"messages": []}', "messages must be a list"),
        (b'{"messages": ["hello"]}', "each message must be an object"),
        (b'{"messages": [{"content": "hello"}]}', "each message must be an object"),
        (request({"role": "pirate", "content": "hello"}), "role 'pirate' is not understood"),
        (request({"role": "user", "content": 4}), "content must be text"),
        (request({"role": "user", "content": [{"type": "image_url"}]}), "images and sound"),
        (request({"role": "assistant", "tool_calls": [{"id": 1}]}), "tool_calls must name"),
        (request(tools=[{"type": "function"}]), "function calling is not offered"),
        (request(functions=[{"name": "look"}]), "function calling is not offered"),
        (request(n=2), "one answer per request"),
        (request(logprobs=True), "logprobs are not offered"),
        (request(stop=[4]), "stop must be"),
        (request(response_format={"type": "xml"}), "response_format must be"),
        (request(response_format={"type": "json_object", "schema": {"type": 4}}), "no JSON schema"),
        (request(response_format={"type": "json_object", "schema": nested(400)}), "too deeply"),
    ],
)
def test_what_is_not_offered_is_refused_in_one_line(body: bytes, words: str) -> None:
    with pytest.raises(NotServed) as caught:
        read_request(body)
    assert caught.value.status == 400
    assert words in caught.value.reason
    assert "\n" not in caught.value.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = ("messages", "tools", "n", "stop", "stream", "model", "stream_options", "response_format")
ENTRY = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "name", "tool_call_id"]),
    JSON | st.sampled_from(["user", "assistant", "tool"]),
)


@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON),
    st.lists(ENTRY, max_size=3),
    st.booleans(),
)
def test_any_body_is_either_understood_or_refused(
    body: dict[str, Any], entries: list[Any], replaced: bool
) -> None:
    if replaced:
        body["messages"] = entries
    with contextlib.suppress(NotServed):
        asked = read_request(json.dumps(body).encode())
        assert all(isinstance(message.content, str) for message in asked.messages)


# -- memories ----------------------------------------------------------------------------------


def test_the_context_of_a_role_is_what_it_reads_without_what_it_is_told_it_is() -> None:
    messages = (
        Message("system", "You are the writer."),
        Message("user", "the task"),
        Message("assistant", "my draft"),
        Message("user", "again"),
    )
    assert context_of(messages) == "the task\n\n[assistant] my draft\n\nagain"


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_a_block_goes_to_the_end_of_the_last_user_message_and_nowhere_else(
    given_: list[tuple[str, str]],
) -> None:
    messages = tuple(Message(*each) for each in given_)
    assert with_block(messages, "") == messages
    extended = with_block(messages, "<notes>")
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    if not users:
        assert extended == (*messages, Message("user", "<notes>"))
        return
    for at, (before, after) in enumerate(zip(messages, extended, strict=True)):
        added = "\n\n<notes>" if at == users[-1] else ""
        assert after == Message(before.role, before.content + added)


def test_memories_are_chosen_by_the_first_request_and_read_with_each(tmp_path: Path) -> None:
    stage = Echo(blocks={"writer": "<notes>"})
    later = request(
        HELLO, {"role": "assistant", "content": "hm"}, {"role": "user", "content": "go"}
    )
    _, played = exchange(tmp_path, {"first": request(), "later": later}, stage)
    assert stage.supplied == [("writer", "hello")]
    assert played.contexts == {"writer": "hello"}
    assert [message.content for turn in stage.turns for message in turn.messages] == [
        "hello\n\n<notes>",
        "hello",
        "hm",
        "go\n\n<notes>",
    ]


def test_a_role_that_owns_no_memories_is_recorded_without_any(tmp_path: Path) -> None:
    stage = Echo(blocks={"selector": "<notes>"})

    def driver(url: str) -> None:
        work = httpx.get(f"{url}/next", timeout=None, trust_env=False).json()
        selector = work["roles"]["selector"]
        httpx.post(f"{selector}/chat/completions", content=request(), trust_env=False)
        httpx.post(f"{url}/run/{work['run']}/answer", json={"answer": "x"}, trust_env=False)

    host = gateway_host(others=["selector"])
    played = drive(host, stage, driver, tmp_path)
    assert stage.supplied == []
    assert stage.turns == [Turn(role="selector", number=1, messages=(Message("user", "hello"),))]
    assert [step.role for step in played.steps if step.kind == "message"] == ["selector"]


# -- answers -----------------------------------------------------------------------------------


def test_an_answer_is_named_for_its_event_and_says_what_the_run_decided(tmp_path: Path) -> None:
    answers, _ = exchange(
        tmp_path, {"plain": request(), "own": request(model="m", temperature=1, seed=4)}
    )
    plain, own = answers["plain"].json(), answers["own"].json()
    assert plain["choices"][0]["message"] == {"role": "assistant", "content": "writer 1: hello"}
    assert (plain["id"], plain["model"]) == ("chatcmpl-e1", "discernmem")
    assert (own["id"], own["model"]) == ("chatcmpl-e2", "m")
    assert answers["plain"].headers["X-Discernmem-Overridden"] == ""
    assert answers["own"].headers["X-Discernmem-Overridden"] == "temperature, seed"


def test_a_stream_tells_the_finished_answer(tmp_path: Path) -> None:
    body = request(stream=True, stream_options={"include_usage": True})
    answer = exchange(tmp_path, {"streamed": body})[0]["streamed"]
    assert answer.headers["Content-Type"] == "text/event-stream"
    *events, end, rest = answer.text.split("\n\n")
    told = [json.loads(event.removeprefix("data: ")) for event in events]
    assert "".join(c["delta"].get("content", "") for t in told for c in t["choices"]) == (
        "writer 1: hello"
    )
    assert [t["choices"][0]["finish_reason"] for t in told[:2]] == [None, "stop"]
    assert told[2]["usage"]["total_tokens"] == 0
    assert (end, rest) == ("data: [DONE]", "")


def test_a_client_reads_up_to_its_stop_and_the_log_holds_everything(tmp_path: Path) -> None:
    answers, played = exchange(tmp_path, {"cut": request(stop=["llo", "1:"])})
    assert answers["cut"].json()["choices"][0]["message"]["content"] == "writer "
    assert played.steps[0].text == "writer 1: hello"
    assert cut("abc", []) == "abc"


def test_trouble_of_the_model_stops_the_run_and_the_client_is_told(tmp_path: Path) -> None:
    class Down(Echo):
        def ask(self, turns: Sequence[Turn]) -> list[Spoken]:  # noqa: ARG002
            raise Infrastructure("the model is down; start it")

    told: list[httpx.Response] = []

    def driver(url: str) -> None:
        work = httpx.get(f"{url}/next", timeout=None, trust_env=False).json()
        role = work["roles"]["writer"]
        told.append(httpx.post(f"{role}/chat/completions", content=request(), trust_env=False))

    with pytest.raises(Infrastructure, match="the model is down"):
        drive(gateway_host(), Down(), driver, tmp_path)
    assert told[0].status_code == 503
    assert told[0].json()["error"] == {
        "message": "the model is down; start it",
        "type": "server_error",
        "param": None,
        "code": None,
    }
