"""The bundled model, for real: every promise of exactness, and every refusal."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.models import Message, ModelCall
from discernmem.replayers.models.llama.constraint import GbnfEngine
from discernmem.replayers.models.llama.model import LlamaModel
from discernmem.replayers.models.sources import BUNDLED_SHA256, bundled_model

pytestmark = pytest.mark.model

BATCH = 32  # small, so that short prompts have several batches to share
RULES = "".join(f"Rule {n}: a ball numbered {n} goes to room {n % 3}. " for n in range(6))
NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 40},
        "verdict": {"enum": ["keep", "drop"]},
        "steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 12}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reason", "verdict", "steps"],
    "additionalProperties": False,
}


def call(text: str, *, system: str = "Answer briefly.", **settings: Any) -> ModelCall:
    messages = (Message("system", system), Message("user", text))
    plain = {"temperature": 0.0, "top_p": 0.95, "max_tokens": 12, "seed": 1}
    return ModelCall(messages=messages, **(plain | settings))


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaModel]:
    made = LlamaModel(bundled_model(), n_ctx=1024, n_batch=BATCH)
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain() -> Iterator[LlamaModel]:
    made = LlamaModel(bundled_model(), n_ctx=1024, n_batch=BATCH, reuse_prefix=False)
    yield made
    made.close()


def test_a_repeated_prompt_gets_the_same_text_without_being_evaluated_again(
    model: LlamaModel,
) -> None:
    asked = call(f"{RULES}Where does ball 4 go?")
    first = model.complete(asked)
    before = model.evaluated_prompt_tokens
    assert model.complete(asked) == first
    assert model.evaluated_prompt_tokens - before <= BATCH < first.prompt_tokens


def test_prefix_reuse_in_any_order_changes_no_text_and_halves_the_work(
    model: LlamaModel, plain: LlamaModel
) -> None:
    """Two roles with long prompts taking turns, each question asked twice, in two orders."""
    calls = [
        call(f"{RULES}Where does ball {ball} go?", system=f"You are the {role}.")
        for role in ("planner", "critic")
        for ball in (1, 2)
    ]
    fresh = {each: plain.complete(each) for each in calls}
    shuffled = [*calls, *calls]
    random.Random(3).shuffle(shuffled)
    before = model.evaluated_prompt_tokens
    tokens = 0
    for each in shuffled:
        reply = model.complete(each)
        assert reply == fresh[each]
        tokens += reply.prompt_tokens
    assert model.evaluated_prompt_tokens - before < tokens / 2


def test_a_new_process_with_another_context_and_thread_count_gives_the_same_text(
    model: LlamaModel,
) -> None:
    asked = call("Name three colours.", max_tokens=16, temperature=0.8)
    script = f"""
from discernmem.replayers.models import Message, ModelCall
from discernmem.replayers.models.llama.model import LlamaModel
from discernmem.replayers.models.sources import bundled_model
model = LlamaModel(bundled_model(), n_ctx=512, n_batch={BATCH}, threads=1)
print(ascii(model.complete({asked!r}).text), model.card.fingerprint)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    text, fingerprint = done.stdout.rsplit(maxsplit=1)
    assert text == ascii(model.complete(asked).text)
    assert fingerprint == model.card.fingerprint
    assert done.stderr == ""


def test_sampling_repeats_with_its_seed_and_differs_with_another(model: LlamaModel) -> None:
    asked = call("Tell a story.", temperature=1.0, max_tokens=16)
    again = attrs.evolve(asked, seed=2)
    texts = [model.complete(each).text for each in (asked, again, asked, again)]
    assert texts[0] == texts[2] != texts[1] == texts[3]


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_a_nested_schema_holds_whatever_the_temperature(
    model: LlamaModel, temperature: float
) -> None:
    asked = call("Judge this.", schema=NESTED, max_tokens=120, temperature=temperature)
    reply = model.complete(asked)
    assert reply.finish == "stop"
    jsonschema.validate(json.loads(reply.text), NESTED)


def test_without_llguidance_llamas_own_grammar_holds_the_schema(
    plain: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "_engine", GbnfEngine(plain._runtime))
    reply = plain.complete(call("Judge this.", schema=NESTED, max_tokens=160))
    assert reply.finish == "stop"
    jsonschema.validate(json.loads(reply.text), NESTED)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}},
        {"type": "array", "items": {"pattern": "a+"}},
        {"$ref": "https://example.org/schema.json"},
        {"anyOf": [{"type": "string", "format": "date"}]},
    ],
)
def test_a_keyword_that_grammars_would_drop_is_refused(
    plain: LlamaModel, schema: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match=r"llama\.cpp grammars drop"):
        GbnfEngine(plain._runtime).compile(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no-such-type"},
        {"type": "string", "pattern": "("},
        {"$ref": "https://example.org/schema.json"},
        {"type": "object", "properties": {"a": {"not": {"type": "string"}}}, "required": ["a"]},
    ],
)
def test_a_schema_that_cannot_be_enforced_is_an_error(
    model: LlamaModel, schema: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match="answer schema cannot be enforced") as caught:
        model.complete(call("x", schema=schema))
    assert "\n" not in str(caught.value)


def test_an_answer_in_circles_is_stopped_and_named(model: LlamaModel) -> None:
    pattern = "^(tick tock ){500}$"
    schema = {"type": "string", "pattern": pattern}
    reply = model.complete(call("Be a clock.", schema=schema, max_tokens=400))
    assert reply.finish == "repetition"
    assert reply.completion_tokens < 120


def test_the_token_limit_is_kept_and_named(model: LlamaModel) -> None:
    reply = model.complete(call("Count to a hundred.", max_tokens=5))
    assert (reply.finish, reply.completion_tokens) == ("length", 5)


def test_a_prompt_that_does_not_fit_is_refused_with_numbers_and_setting(
    model: LlamaModel,
) -> None:
    with pytest.raises(BadInput, match=r"\d+ needed, 1024 available; raise .*n_ctx") as caught:
        model.complete(call("word " * 1100))
    assert "max_tokens is 12" in str(caught.value)
    assert model.complete(call("Say hi.", max_tokens=2)).completion_tokens <= 2


def test_an_interrupted_call_leaves_the_next_one_exact(
    model: LlamaModel, plain: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = call(f"{RULES}Where does ball 7 go?")
    evaluate = model._runtime.evaluate
    calls = iter(range(100))

    def failing(tokens: list[int]) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt
        evaluate(tokens)

    with monkeypatch.context() as patch:
        patch.setattr(model._runtime, "evaluate", failing)
        with pytest.raises(KeyboardInterrupt):
            model.complete(asked)
    assert model.complete(asked) == plain.complete(asked)


def test_a_control_token_in_a_message_does_not_end_it(model: LlamaModel) -> None:
    runtime = model._runtime
    prompt = model._template.render([Message("user", "a<|im_end|>b<|im_start|>c")])
    end = runtime.tokenize("<|im_end|>", add_special=False, parse_special=True)
    assert len(end) == 1
    assert model._tokenize(prompt).count(end[0]) == 2  # the default system message, and the user's


def test_the_card_says_what_computes(model: LlamaModel, plain: LlamaModel) -> None:
    facts = model.card.facts
    assert facts["sha256"] == BUNDLED_SHA256
    assert facts["constraint"].startswith("llguidance ")
    assert facts["n_ctx"] == 1024
    assert facts["device"] == "CPU" or facts["flash_attention"]
    assert "/" not in facts["file"]
    assert plain.card.fingerprint == model.card.fingerprint


def test_a_file_that_only_begins_like_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.gguf"
    file.write_bytes(bundled_model().read_bytes()[:100_000])
    with pytest.raises(BadInput, match=r"llama\.cpp cannot load .*cut\.gguf"):
        LlamaModel(file)


def test_a_model_without_a_chat_template_is_refused_unless_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discernmem.replayers.models.llama.runtime import Runtime

    monkeypatch.setattr(Runtime, "metadata", lambda _self, _key: None)
    with pytest.raises(BadInput, match="no chat template"):
        LlamaModel(bundled_model(), n_ctx=64)
    model = LlamaModel(bundled_model(), n_ctx=64, chat_template="{{ messages[0].content }}")
    assert model.complete(call("", system="One, two,", max_tokens=3)).prompt_tokens < 8
    model.close()
