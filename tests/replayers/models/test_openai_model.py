from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
import pytest
from endpoint import Endpoint, Response, chat, obedient, schema_in

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.models import Message, ModelCall, at_once, complete_all
from discernmem.replayers.models.exchange import ATTEMPTS
from discernmem.replayers.models.openai import OpenAIModel

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}},
    "required": ["verdict"],
}
CALL = ModelCall(
    messages=(Message("system", "Be brief."), Message("user", "x\ud800y")),
    temperature=0.7,
    top_p=0.9,
    max_tokens=12,
    seed=42,
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.delenv("DISCERNMEM_API_KEY", raising=False)
    with Endpoint() as made:
        yield made


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def model(server: Endpoint, pauses: list[float]) -> Iterator[OpenAIModel]:
    made = OpenAIModel(server.url, "m", pause=pauses.append)
    yield made
    made.close()


def with_schema() -> ModelCall:
    return attrs.evolve(CALL, schema=SCHEMA)


def test_a_call_sends_every_setting_and_clean_text(server: Endpoint, model: OpenAIModel) -> None:
    reply = model.complete(CALL)
    assert (reply.text, reply.finish) == ("hello", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (5, 2)
    assert server.requests[-1] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "x\ufffdy"},
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 12,
        "seed": 42,
    }


@pytest.mark.parametrize("dialect", ["json_schema", "json_object", "native"])
@pytest.mark.parametrize("otherwise", [400, 500, "ignored"])
def test_the_dialect_that_is_obeyed_is_found_and_used(
    server: Endpoint, model: OpenAIModel, dialect: str, otherwise: int | str
) -> None:
    def answer(body: dict[str, Any]) -> Response:
        if schema_in(body)[0] in (dialect, "none"):
            return obedient(body)
        return chat("I am a friendly model.") if otherwise == "ignored" else (int(otherwise), {})

    server.answer = answer
    assert json.loads(model.complete(with_schema()).text) == {"verdict": "yes"}
    assert schema_in(server.requests[-1]) == (dialect, SCHEMA)
    assert model.card.facts["dialect"] == dialect
    asked = len(server.requests)
    model.complete(with_schema())
    assert len(server.requests) == asked + 1


def test_no_enforced_dialect_means_no_constrained_call(
    server: Endpoint, model: OpenAIModel
) -> None:
    server.answer = lambda _: chat("I am a friendly model.")
    assert model.complete(CALL).text == "I am a friendly model."
    asked = len(server.requests)
    with pytest.raises(BadInput, match="enforces no JSON schema"):
        model.complete(with_schema())
    assert len(server.requests) == asked
    assert model.card.facts["dialect"] is None


def test_a_named_dialect_is_not_probed_for_others(server: Endpoint) -> None:
    model = OpenAIModel(server.url, "m", dialect="native")
    model.complete(with_schema())
    assert {schema_in(body)[0] for body in server.requests} == {"native", "none"}
    model.close()


def test_the_card_names_model_and_build_but_no_address_in_the_fingerprint(
    server: Endpoint, model: OpenAIModel
) -> None:
    facts = model.card.facts
    assert facts["server_model"] == {"id": "m", "owned_by": "us"}
    assert facts["system_fingerprint"] == "b1-abc"
    assert facts["base_url"] == server.url
    again = OpenAIModel(server.url.replace("127.0.0.1", "localhost"), "m")
    assert again.card.fingerprint == model.card.fingerprint
    again.close()


def test_what_the_server_does_with_a_seed_and_its_slots_are_facts_that_decide_nothing(
    server: Endpoint, model: OpenAIModel
) -> None:
    assert (model.card.facts["seed"], model.card.facts["slots"]) == ("unknown", None)
    server.pages = {"/props": (200, {"total_slots": 2})}
    server.answer = lambda body: chat(f"{body['seed']}") if body["temperature"] else obedient(body)
    able = OpenAIModel(server.url, "m")
    assert (able.card.facts["seed"], able.card.facts["slots"]) == ("honoured", 2)
    assert able.card.fingerprint == model.card.fingerprint
    asked = len(server.requests)
    able.complete(CALL)
    assert able.card.facts["seed"] == "honoured"
    assert len(server.requests) == asked + 1
    able.close()


@pytest.mark.parametrize("page", [(500, {}), (200, b"<html>"), (200, b"[" * 100_000)])
def test_no_trouble_with_looking_for_slots_is_trouble(
    server: Endpoint, model: OpenAIModel, pauses: list[float], page: Response
) -> None:
    server.pages = {"/props": page, "/slots": page}
    assert model.card.facts["slots"] is None
    assert pauses == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_passing_failure_is_retried_with_growing_pauses(
    server: Endpoint, model: OpenAIModel, pauses: list[float], status: int
) -> None:
    assert model.card
    failures = iter([(status, {"error": "busy"})] * 2)
    server.answer = lambda body: next(failures, None) or obedient(body)
    assert model.complete(CALL).text == "hello"
    assert pauses == [0.5, 1.0]


def test_a_busy_server_while_probing_is_waited_for_not_taken_for_ignorance(
    server: Endpoint, model: OpenAIModel, pauses: list[float]
) -> None:
    failures = iter([(429, {}), (503, {})])
    server.answer = lambda body: next(failures, None) or obedient(body)
    assert model.card.facts["dialect"] == "json_schema"
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("said", "waited"),
    [
        ("7", 7.0),
        ("3600", 30.0),
        ("Fri, 31 Dec 2199 23:59:59 GMT", 30.0),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0.0),
        ("nan", 0.5),
        ("-3", 0.5),
        ("soon", 0.5),
    ],
)
def test_the_server_may_say_how_long_to_wait_within_a_limit(
    server: Endpoint, model: OpenAIModel, pauses: list[float], said: str, waited: float
) -> None:
    assert model.card
    failures = iter([(429, {})])
    server.answer = lambda body: next(failures, None) or obedient(body)
    server.retry_after = said
    model.complete(CALL)
    assert pauses == [waited]


def test_a_lasting_failure_is_infrastructure_in_one_line(
    server: Endpoint, model: OpenAIModel, pauses: list[float]
) -> None:
    assert model.card
    asked = len(server.requests)
    server.answer = lambda _: (503, b"out of\nmemory")
    with pytest.raises(Infrastructure, match="HTTP 503: out of memory") as caught:
        model.complete(CALL)
    assert "resume" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == asked + ATTEMPTS
    assert len(pauses) == ATTEMPTS - 1


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_is_not_retried_and_names_status_and_body(
    server: Endpoint, model: OpenAIModel, pauses: list[float], status: int
) -> None:
    assert model.card
    server.answer = lambda _: (status, {"error": "no such thing"})
    with pytest.raises(BadInput, match=rf"HTTP {status}: .*no such thing"):
        model.complete(CALL)
    assert pauses == []


def test_the_key_comes_from_the_environment_and_is_never_shown(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCERNMEM_API_KEY", "very-secret")
    model = OpenAIModel(server.url, "m")
    assert "very-secret" not in repr(model.card)
    assert server.headers[-1]["Authorization"] == "Bearer very-secret"
    server.answer = lambda _: (400, {"error": "bad request with very-secret"})
    with pytest.raises(BadInput, match=r"\*\*\*") as caught:
        model.complete(CALL)
    assert "very-secret" not in str(caught.value)
    model.close()


def test_a_missing_key_is_named(server: Endpoint, model: OpenAIModel) -> None:
    server.models = (401, {"error": "no key"})
    with pytest.raises(BadInput, match="set DISCERNMEM_API_KEY"):
        model.complete(CALL)


def test_a_server_that_is_not_there_is_infrastructure(pauses: list[float]) -> None:
    closed = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    closed.server_close()
    model = OpenAIModel(f"http://127.0.0.1:{closed.server_port}/v1", "m", pause=pauses.append)
    with pytest.raises(Infrastructure, match="check that it runs"):
        model.complete(CALL)
    assert len(pauses) == ATTEMPTS - 1
    model.close()


def test_a_server_that_hangs_is_infrastructure(server: Endpoint, pauses: list[float]) -> None:
    model = OpenAIModel(server.url, "m", timeout=0.05, pause=pauses.append)
    assert model.card
    release = threading.Event()

    def hang(body: dict[str, Any]) -> Response:
        release.wait(5)
        return obedient(body)

    server.answer = hang
    with pytest.raises(Infrastructure, match="does not answer"):
        model.complete(CALL)
    release.set()
    model.close()


GARBAGE = [
    b"<html>",
    b"[1]",
    b"",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"choices": [{"message": {"content": "cut o',
    {"error": {"message": "worker died"}},
    {"choices": []},
    {"choices": [{}]},
    {"choices": [{"message": "text"}]},
    {"choices": [{"message": {"content": 7}}]},
]


@pytest.mark.parametrize("body", GARBAGE)
def test_a_server_that_answers_with_garbage_is_infrastructure_after_all_attempts(
    server: Endpoint, model: OpenAIModel, pauses: list[float], body: Any
) -> None:
    assert model.card
    asked = len(server.requests)
    server.answer = lambda _: (200, body)
    with pytest.raises(Infrastructure, match=r"answers with something else .* then resume") as it:
        model.complete(CALL)
    assert "\n" not in str(it.value)
    assert len(str(it.value)) < 500
    assert len(server.requests) == asked + ATTEMPTS
    assert pauses == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_that_passes_is_no_answer(server: Endpoint, model: OpenAIModel, body: Any) -> None:
    failures = iter([(200, body)] * 3)
    server.answer = lambda asked: next(failures, None) or obedient(asked)
    assert model.card.facts["dialect"] == "json_schema"
    failures = iter([(200, body)] * 3)
    assert model.complete(CALL).text == "hello"


def test_a_body_that_is_not_encoded_as_it_says_is_infrastructure(
    server: Endpoint, model: OpenAIModel
) -> None:
    assert model.card
    server.encoding = "gzip"
    with pytest.raises(Infrastructure, match="does not answer"):
        model.complete(CALL)


@pytest.mark.parametrize("text", ["", "<html>", "I would rather not say.", '{"verdict": "may'])
def test_bad_words_are_an_answer_and_never_asked_for_again(
    server: Endpoint, model: OpenAIModel, pauses: list[float], text: str
) -> None:
    assert model.card
    asked = len(server.requests)
    server.answer = lambda _: chat(text)
    assert model.complete(with_schema()).text == text
    assert len(server.requests) == asked + 1
    assert pauses == []


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "many"}, {"completion_tokens": -1}])
def test_what_a_server_does_not_count_is_zero(
    server: Endpoint, model: OpenAIModel, usage: Any
) -> None:
    server.answer = lambda body: (200, obedient(body)[1] | {"usage": usage})
    reply = model.complete(CALL)
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)


def numbered(*seeds: int) -> list[ModelCall]:
    return [attrs.evolve(CALL, seed=seed) for seed in seeds]


def test_calls_asked_together_are_sent_at_once_and_answered_in_their_order(
    server: Endpoint,
) -> None:
    model = OpenAIModel(server.url, "m", parallel=3)
    assert model.card
    assert at_once(model) == 3
    meeting = threading.Barrier(3)

    def answer(body: dict[str, Any]) -> Response:
        meeting.wait(10)  # broken unless three are here at once
        return chat(f"answer {body['seed']}")

    server.answer = answer
    replies = complete_all(model, numbered(30, 10, 20))
    assert [reply.text for reply in replies] == ["answer 30", "answer 10", "answer 20"]
    model.close()


def test_by_default_calls_are_sent_in_turn_and_as_single_ones_are(
    server: Endpoint, model: OpenAIModel
) -> None:
    calls = numbered(3, 1, 2)
    singly = [model.complete(call) for call in calls]
    sent = server.requests[-3:]
    assert at_once(model) == 1
    assert complete_all(model, calls) == singly
    assert server.requests[-3:] == sent


def test_a_call_that_fails_among_others_is_infrastructure_after_the_others_ended(
    server: Endpoint,
) -> None:
    model = OpenAIModel(server.url, "m", parallel=2, pause=lambda _: None)
    assert model.card
    answered: list[int] = []

    def answer(body: dict[str, Any]) -> Response:
        if body["seed"] == 1:
            return 503, {"error": "slot 1 died"}
        answered.append(body["seed"])
        return chat("fine")

    server.answer = answer
    with pytest.raises(Infrastructure, match="slot 1 died"):
        model.complete_all(numbered(1, 2))
    assert answered == [2]
    model.close()


def test_fewer_than_one_request_at_a_time_is_refused() -> None:
    with pytest.raises(BadInput, match="parallel must be 1 or more"):
        OpenAIModel("http://127.0.0.1:1/v1", "m", parallel=0)


def test_an_answer_cut_by_the_server_is_not_a_natural_end(
    server: Endpoint, model: OpenAIModel
) -> None:
    assert model.card
    server.answer = lambda _: chat("half", finish_reason="length")
    assert model.complete(CALL).finish == "length"
    server.answer = lambda _: chat(None, finish_reason="content_filter")
    assert (model.complete(CALL).text, model.complete(CALL).finish) == ("", "length")


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://x\x00/v1"]
)
def test_an_address_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="http://host:port/v1"):
        OpenAIModel(url, "m")


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(BadInput, match="one of auto, json_schema"):
        OpenAIModel("http://127.0.0.1:1/v1", "m", dialect="latin")
