"""Building blocks of the answers: JSON schemas with bounded parts, and how their parts are read.

Every schema is a flat object whose fields are all required and whose first field is a short
``reason``: small models judge better when they may say why first. Reading trims outer blanks and
takes a word for "nothing" as nothing; it changes no text otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

REASON_LIMIT = 200
BODY_LIMIT = 400
CONDITION_LIMIT = 160
CONDITIONS_LIMIT = 4
ROOM = 40
ID_LIMIT = 80

NONE = "none"
_NOTHING = frozenset({"", NONE, "n/a", "null", "nothing", "empty"})


def answer(**fields: Schema) -> Schema:
    """Return the schema of an object with a reason and then exactly these fields, in order."""
    return record(reason=text(REASON_LIMIT), **fields)


def record(**fields: Schema) -> Schema:
    """Return the schema of an object with exactly these fields, in order."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def text(limit: int, *, least: int = 0) -> Schema:
    """Return the schema of a string of ``least`` to ``limit`` characters."""
    made: Schema = {"type": "string", "maxLength": limit}
    return made | {"minLength": least} if least else made


def flag() -> Schema:
    """Return the schema of a truth value."""
    return {"type": "boolean"}


def one_of(values: Iterable[str]) -> Schema:
    """Return the schema of a string that is one of ``values``, each listed once, in order."""
    return {"type": "string", "enum": list(dict.fromkeys(values))}


def some_of(values: Sequence[str], limit: int) -> Schema:
    """Return the schema of up to ``limit`` of ``values``; of an empty list if there are none."""
    if not values:
        return array(text(ID_LIMIT), 0)
    return array(one_of(values), limit)


def array(items: Schema, limit: int) -> Schema:
    """Return the schema of a list of at most ``limit`` items."""
    return {"type": "array", "items": items, "maxItems": limit}


def conditions() -> Schema:
    """Return the schema of a list of conditions."""
    return array(text(CONDITION_LIMIT), CONDITIONS_LIMIT)


def with_room(schema: Schema) -> Schema:
    """Return the schema to constrain a model to when an answer must satisfy ``schema``.

    A constrained model that reaches a ``maxLength`` is made to close the string, in the middle of
    a word if need be. With room beyond the limit such a text is too long and refused, instead of
    being kept cut off. A reason is only read by people and may end anywhere.
    """
    made = dict(schema)
    if "maxLength" in made:
        made["maxLength"] += ROOM
    if "items" in made:
        made["items"] = with_room(made["items"])
    if "properties" in made:
        made["properties"] = {
            name: inner if name == "reason" else with_room(inner)
            for name, inner in made["properties"].items()
        }
    return made


def read_text(value: str) -> str:
    """Return the text without outer blanks; empty if it only says that there is none."""
    trimmed = value.strip()
    return "" if trimmed.rstrip(".").lower() in _NOTHING else trimmed


def read_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that say something, each once, in the order given."""
    return tuple(dict.fromkeys(read for value in values if (read := read_text(value))))


def read_ids(values: Iterable[str]) -> tuple[str, ...]:
    """Return the ids without outer blanks, each once, in the order given."""
    return tuple(dict.fromkeys(value.strip() for value in values))


def reason(found: Mapping[str, Any]) -> str:
    """Return the model's reason."""
    return str(found["reason"]).strip()
