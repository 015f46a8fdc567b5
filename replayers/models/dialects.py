"""How servers want to be told a JSON schema; the ways differ, and some are silently ignored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema

Schema = Mapping[str, Any]

DIALECTS: dict[str, Callable[[Schema], dict[str, Any]]] = {
    # The form of the OpenAI API: vLLM, llama-server, Ollama and others.
    "json_schema": lambda schema: {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
    },
    # The server of llama-cpp-python, and older llama-server.
    "json_object": lambda schema: {"response_format": {"type": "json_object", "schema": schema}},
    # llama-server's own field.
    "native": lambda schema: {"json_schema": schema},
}

# No model writes this by itself, so an answer that fits shows that the schema was enforced.
PROBE_SCHEMA: Schema = {
    "type": "object",
    "properties": {"probe": {"type": "string", "enum": ["k7-discern"]}},
    "required": ["probe"],
    "additionalProperties": False,
}
PROBE_QUESTION = "Say hello."


def obeys(text: str, schema: Schema) -> bool:
    """Whether a text is JSON that satisfies a schema."""
    try:
        jsonschema.validate(json.loads(text), schema)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True
