"""Finding the one JSON object in a model's answer, without ever changing what it says.

The answer may reason first and may wrap its object in prose or a code fence. Everything beyond
that is a `Problem` the model is told about: nothing is completed, unescaped or guessed, because a
string that was cut off is not a shorter rule. The work is linear in the length of the answer.
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

import attrs

DEPTH_LIMIT = 32

_REASONING = re.compile(
    r"<(?P<end>/?)(?:think|thinking|thought|reasoning)>|\[(?P<end2>/?)THINK\]", re.IGNORECASE
)
# An object that says something opens with a key; any other brace is prose, like {this}.
_OBJECT = re.compile(r'\{(?=\s*["}])')
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@attrs.frozen
class Problem:
    """Why an answer could not be used, as one line the model can act on."""

    message: str


def extract_object(text: str) -> dict[str, object] | Problem:
    """Return the single JSON object in ``text``, or what is wrong with it; never raises.

    An answer that is an object from its first character to its last is taken as it stands.
    Otherwise reasoning blocks are set aside first: complete ones, one that was opened earlier
    (everything up to its end) and one that never ends (everything after its start).

    Refused: no object or more than one, invalid or cut-off JSON, a key that occurs twice (readers
    disagree on which value counts), numbers that are not finite, nesting beyond ``DEPTH_LIMIT``,
    characters no log can store (NUL, lone surrogates), and an answer that is a JSON schema.
    """
    answer = text.strip()
    if answer.startswith("{"):
        whole = _decode(answer, 0)
        if not isinstance(whole, Problem) and whole[1] == len(answer):
            return _checked(whole[0])
    answer = without_reasoning(answer).strip()
    if not answer:
        return Problem("the answer holds no JSON object" + _only(text))
    if answer.startswith("["):
        return Problem("the answer is a list, not one JSON object")
    found: dict[str, object] | None = None
    position = 0
    while start := _OBJECT.search(answer, position):
        decoded = _decode(answer, start.start())
        if isinstance(decoded, Problem):
            return decoded
        if found is not None:
            return Problem("the answer holds more than one JSON object")
        found, position = decoded
    if found is None:
        return Problem("the answer holds no JSON object")
    return _checked(found)


def _only(text: str) -> str:
    return ", only reasoning" if text.strip() else ", it is empty"


def without_reasoning(text: str) -> str:
    """Return ``text`` without its reasoning blocks.

    What stood around a block is joined by a line break, which is not allowed inside a JSON string:
    a tag within a string makes the answer invalid instead of silently shorter.
    """
    kept: list[str] = []
    start = 0
    inside = False
    for tag in _REASONING.finditer(text):
        if tag["end"] or tag["end2"]:
            if not inside:
                kept.clear()
            inside = False
            start = tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return "\n".join(kept)


class _RefusedError(ValueError):
    """Valid to Python's reader, not to us."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise _RefusedError(f"the key {_short(key)} occurs twice")
        made[key] = value
    return made


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise _RefusedError(f"the number {_short(literal)} is not finite")
    return value


def _constant(literal: str) -> NoReturn:
    raise _RefusedError(f"{literal} is not a JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant
)


def _decode(text: str, start: int) -> tuple[dict[str, object], int] | Problem:
    """Return the object that starts at ``start`` and the position after it."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut_off = error.msg.startswith("Unterminated string") or error.pos >= len(text)
        if cut_off:
            return Problem("the JSON object is cut off before its end")
        return Problem(f"the JSON object is invalid: {error.msg.lower()} at character {error.pos}")
    except RecursionError:
        return Problem(_TOO_DEEP)
    except _RefusedError as error:
        return Problem(str(error))
    except ValueError:
        # The only other one is Python's limit on the digits of an integer.
        return Problem("the JSON object holds a number with too many digits")


_TOO_DEEP = f"the JSON object is nested more than {DEPTH_LIMIT} levels deep"


def _checked(found: dict[str, object]) -> dict[str, object] | Problem:
    """Return the object, or why it cannot be an answer."""
    if "$schema" in found or (
        found.get("type") == "object" and isinstance(found.get("properties"), dict)
    ):
        return Problem("the answer is the schema itself, not an object that follows it")
    pending: list[tuple[object, int]] = [(found, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > DEPTH_LIMIT:
            return Problem(_TOO_DEEP)
        if isinstance(value, dict):
            pending += ((each, depth + 1) for each in (*value.keys(), *value.values()))
        elif isinstance(value, list):
            pending += ((each, depth + 1) for each in value)
        elif isinstance(value, str) and _UNSTORABLE.search(value):
            return Problem("a text holds a character that cannot be stored (NUL or half a pair)")
    return found


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
