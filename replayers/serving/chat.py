"""The chat protocol as clients speak it: requests read, answers and refusals written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from ..models.base import Message
from .errors import NotServed

MODEL = "discernmem"
"""The one model that every role's address lists."""

_FORCED = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
)
_KINDS = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_ERRORS = {404: "not_found_error", 503: "server_error"}


@attrs.frozen(kw_only=True)
class Request:
    """What a client asks, as far as it is the client's to say.

    ``overridden`` are the values it sent that the run decides; ``stop`` are texts that end the
    answer it reads; ``stream`` and ``usage`` say how it wants to get it.
    """

    messages: tuple[Message, ...]
    model: str = MODEL
    schema: Mapping[str, Any] | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    usage: bool = False
    overridden: tuple[str, ...] = ()


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a body is.

    Raises:
        NotServed: it is something else.
    """
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotServed(400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise NotServed(400, "the body must be a JSON object")
    return found


def read_request(body: bytes) -> Request:
    """A chat request.

    Raises:
        NotServed: it is none, or asks for something that is not offered.
    """
    asked = read_object(body)
    entries = asked.get("messages")
    if not isinstance(entries, list) or not entries:
        raise NotServed(400, "messages must be a list with at least one message")
    results = any(_kind(entry) in ("tool", "function") for entry in entries)
    if (asked.get("tools") or asked.get("functions")) and not results:
        raise NotServed(
            400, "function calling is not offered; let the team run its tools and tell the results"
        )
    if asked.get("n") not in (None, 1):
        raise NotServed(400, "one answer per request is offered; leave n out")
    if asked.get("logprobs"):
        raise NotServed(400, "logprobs are not offered; leave them out")
    options = asked.get("stream_options")
    return Request(
        messages=tuple(_messages(entries)),
        model=asked["model"] if isinstance(asked.get("model"), str) else MODEL,
        schema=_schema(asked.get("response_format")),
        stop=_stop(asked.get("stop")),
        stream=asked.get("stream") is True,
        usage=isinstance(options, dict) and options.get("include_usage") is True,
        overridden=tuple(name for name in _FORCED if asked.get(name) is not None),
    )


def _kind(entry: Any) -> str:
    """The role of a message, in the chat's sense."""
    if not isinstance(entry, dict) or not isinstance(entry.get("role"), str):
        raise NotServed(400, "each message must be an object with role and content")
    return str(entry["role"])


def _messages(entries: Sequence[Any]) -> Iterator[Message]:
    """The messages as texts; what a tool gave reads like something the user says."""
    called: dict[str, str] = {}
    for entry in entries:
        kind, text = _kind(entry), _text(entry.get("content"))
        if kind in ("tool", "function"):
            name = entry.get("name") or called.get(str(entry.get("tool_call_id")), "the tool")
            yield Message("user", f"Result of {name}:\n{text}")
        elif kind in _KINDS:
            yield Message(
                _KINDS[kind], "\n".join([*([text] if text else []), *_calls(entry, called)])
            )
        else:
            raise NotServed(400, f"a message of role {kind!r} is not understood")


def _calls(entry: Mapping[str, Any], called: dict[str, str]) -> Iterator[str]:
    """The calls of tools that a message tells of; their ids are drawn, so they are left out."""
    match entry.get("tool_calls"):
        case None:
            return
        case [*calls]:
            pass
        case _:
            raise NotServed(400, "tool_calls must be a list")
    for call in calls:
        match call:
            case {"id": str(id_), "function": {"name": str(name), "arguments": str(given)}}:
                called[id_] = name
                yield f"Called {name}({given})"
            case _:
                raise NotServed(400, "tool_calls must name id, function name and arguments")


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return "\n".join(part["text"] for part in content)
    raise NotServed(400, "content must be text; images and sound are not offered")


def _schema(form: Any) -> Mapping[str, Any] | None:
    match form:
        case None | {"type": "text"}:
            return None
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            found = schema
        case {"type": "json_object", "schema": dict(schema)}:
            found = schema
        case {"type": "json_object"}:
            return {"type": "object"}
        case _:
            raise NotServed(
                400, "response_format must be text, json_object or json_schema with a schema"
            )
    try:
        Draft202012Validator.check_schema(found)
    except RecursionError:
        raise NotServed(400, "response_format: the schema is nested too deeply") from None
    except SchemaError as error:
        reason = " ".join(error.message.split())
        raise NotServed(400, f"response_format: no JSON schema: {reason}") from None
    return found


def _stop(value: Any) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value or []
    if not isinstance(found, list) or not all(isinstance(text, str) and text for text in found):
        raise NotServed(400, "stop must be a text or a list of texts")
    return tuple(found)


# -- answers -----------------------------------------------------------------------------------


def answer(request: Request, text: str, event_id: str) -> dict[str, Any]:
    """The finished answer, named for the event that recorded it."""
    message = {"role": "assistant", "content": cut(text, request.stop)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_frame(request, event_id, "chat.completion"), "choices": [choice], "usage": _USAGE}


def chunks(request: Request, text: str, event_id: str) -> bytes:
    """The finished answer as the events of a stream."""
    frame = _frame(request, event_id, "chat.completion.chunk")
    said = {"role": "assistant", "content": cut(text, request.stop)}
    told: list[dict[str, Any]] = [
        {**frame, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    if request.usage:
        told.append({**frame, "choices": [], "usage": _USAGE})
    return b"".join(b"data: %b\n\n" % each for each in [*map(orjson.dumps, told), b"[DONE]"])


def cut(text: str, stop: Sequence[str]) -> str:
    """The text up to the first of the texts that end it."""
    return text[: min([len(text), *(at for each in stop if (at := text.find(each)) >= 0)])]


def models() -> dict[str, Any]:
    """What a role's address lists."""
    listed = {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}
    return {"object": "list", "data": [listed]}


def refusal(error: NotServed) -> dict[str, Any]:
    """A refusal in the shape clients look for."""
    kind = _ERRORS.get(error.status, "invalid_request_error")
    return {"error": {"message": error.reason, "type": kind, "param": None, "code": None}}


# Tokens are in the log; clients that insist on counts find none.
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def _frame(request: Request, event_id: str, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{event_id}",
        "object": kind,
        "created": 0,
        "model": request.model,
        "system_fingerprint": None,
    }
