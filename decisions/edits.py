"""Local edits of a rule's body: one exact anchor each, applied by rule and not by a model (§7).

What the operations do with a body in which the anchor occurs exactly once:

- ``ADD`` puts the text right after the anchor, with a space wherever two words would touch;
- ``REPLACE`` puts the text in place of the anchor and changes nothing else;
- ``DELETE`` removes the anchor and the space it leaves doubled or dangling;
- ``REORDER`` moves the anchor to right after the text, which must itself occur exactly once in
  the body outside the anchor.

Two bodies are the same if they differ in spacing only.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import attrs

_CLOSING: Final = frozenset(",.;:!?)]}")


@attrs.frozen(kw_only=True)
class Edit:
    """One proposed edit, as the model wrote it (Eq. 7): nothing of it is known to be usable."""

    operation: str
    anchor: str
    text: str
    cited: tuple[str, ...]
    correction: str

    @property
    def states_correction(self) -> bool:
        """Whether it says what it is expected to correct."""
        return bool(self.correction.strip())

    def cites_any(self, diagnosed: Collection[str]) -> bool:
        """Whether it cites any of the steps that the diagnosis rests on."""
        return any(step in diagnosed for step in self.cited)


def apply_edit(body: str, edit: Edit) -> tuple[str, str]:
    """The body an edit makes, and the problem with it, empty if none.

    The body is empty if none could be made.
    """
    if edit.operation not in ("ADD", "REPLACE", "DELETE", "REORDER"):
        return "", f"unknown operation: {edit.operation}"
    if not edit.anchor.strip():
        return "", "anchor empty"
    starts = _occurrences(body, edit.anchor)
    if not starts:
        return "", "anchor not found"
    if len(starts) > 1:
        return "", "anchor not unique"
    start, end = starts[0], starts[0] + len(edit.anchor)
    if edit.operation == "ADD":
        made = _insert(body, end, edit.text)
    elif edit.operation == "REPLACE":
        made = body[:start] + edit.text + body[end:]
    elif edit.operation == "DELETE":
        made = _remove(body, start, end)
    else:
        made, problem = _move(body, start, end, edit.text)
        if problem:
            return "", problem
    if not made.strip():
        return "", "resulting body empty"
    return made, "body unchanged" if _words(made) == _words(body) else ""


def check(
    body: str, edit: Edit, tried: Collection[str], displayed: Collection[str]
) -> tuple[str, str]:
    """The body an edit makes and the reason to reject it before any replay, empty if none.

    Args:
        body: the parent's body.
        edit: the proposal.
        tried: bodies already proposed in this repair.
        displayed: ids of the evidence that the repair decision was shown.
    """
    made, problem = apply_edit(body, edit)
    if problem:
        return made, problem
    if any(_words(made) == _words(earlier) for earlier in tried):
        return made, "body already tried"
    for step in edit.cited:
        if step not in displayed:
            return made, f"unknown evidence id: {step}"
    return made, ""


def levenshtein(a: str, b: str) -> int:
    """The least number of inserted, deleted and replaced characters between two bodies."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            replaced = diagonal + (left != right)
            diagonal = row[j]
            row[j] = min(replaced, row[j] + 1, row[j - 1] + 1)
    return row[-1]


def _occurrences(body: str, text: str) -> list[int]:
    """Where ``text`` starts in ``body``, overlapping occurrences included."""
    return [at for at in range(len(body) - len(text) + 1) if body.startswith(text, at)]


def _words(body: str) -> list[str]:
    return body.split()


def _seam(left: str, right: str) -> str:
    """The space that belongs between two pieces of text: none beside space or before a stop."""
    if not left or not right or left[-1].isspace() or right[0].isspace() or right[0] in _CLOSING:
        return ""
    return " "


def _insert(body: str, at: int, text: str) -> str:
    if not text.strip():
        return body
    left = body[:at] + _seam(body[:at], text) + text
    return left + _seam(left, body[at:]) + body[at:]


def _remove(body: str, start: int, end: int) -> str:
    left, right = body[:start], body[end:]
    if not right:
        return left.rstrip()
    if not left or left[-1].isspace():
        right = right.lstrip(" ")
    return left + right


def _move(body: str, start: int, end: int, target: str) -> tuple[str, str]:
    if not target.strip():
        return "", "reorder target empty"
    outside = [at for at in _occurrences(body, target) if at + len(target) <= start or at >= end]
    if not outside:
        return "", "reorder target not found"
    if len(outside) > 1:
        return "", "reorder target not unique"
    after = outside[0] + len(target)
    # Insert before removing: the span to remove is then known wherever the target lies.
    made = _insert(body, after, body[start:end].strip())
    shift = len(made) - len(body) if after <= start else 0
    return _remove(made, start + shift, end + shift), ""
