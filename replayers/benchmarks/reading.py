"""Reading questions: a few short passages, one question, one short answer.

The answer is the team's final action. Where it holds ``<answer>…</answer>``, only the inside of the
last complete pair counts. Otherwise the whole text counts, not its last line: a small model often
answers first and explains after, or lists one name a line, and to pick a line would be to guess on
its behalf. What a rambling reply costs is decided by the word limit alone.

Score. With G required groups of aliases (G = 1 unless the question asks for a list), F of them
matched (`answers.match`) and W of the item's ``wrong`` values named, the score is
``max(0, F - W) / G``; it is 0 for an answer of more than ``limit + limit_more * (G - 1)`` words. So
neither copying the passage nor naming every candidate in it earns anything.

A stream is a JSON Lines file, one item a line::

    {"id": "r001", "family": "list", "question": "…", "passages": ["…"],
     "groups": [["red", "scarlet"], ["blue"]], "wrong": ["green"]}

``aliases`` in place of ``groups`` is one group; ``wrong`` may be left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import attrs
import orjson

from ...eventlog.errors import BadInput
from .answers import contains, listed, match, words
from .base import Benchmark, Outcome, Task, View

SHIPPED = ("standard", "demo")

_REQUIRED = frozenset({"id", "family", "question", "passages"})
_OPTIONAL = frozenset({"aliases", "groups", "wrong"})
_TAG = re.compile(r"</?answer>", re.IGNORECASE)
_PAIR = re.compile(r"<answer>((?:(?!</?answer>).)*)</answer>", re.IGNORECASE | re.DOTALL)


@attrs.frozen(kw_only=True)
class Item:
    """One question: ``groups`` of aliases, one of each to be named, and values not to be named."""

    id: str
    family: str
    question: str
    passages: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    wrong: tuple[str, ...] = ()


class ReadingBenchmark(Benchmark):
    """A stream of reading questions.

    Args:
        source: ``standard`` (56 items), ``demo`` (14, for the bundled model) or the path of a
            JSON Lines file.
        limit: most words an answer may have.
        limit_more: words allowed beyond that for each required group after the first.

    Raises:
        BadInput: the stream or a limit is not usable; the message names the file and the line.
    """

    name = "reading"
    protocol = "reading"

    def __init__(
        self, source: str | Path = "standard", *, limit: int = 12, limit_more: int = 4
    ) -> None:
        if not isinstance(source, str | Path):
            raise BadInput(
                f"source is {source!r}; give {' or '.join(SHIPPED)}, or the path of a stream"
            )
        for option, value in (("limit", limit), ("limit_more", limit_more)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(f"{option} is {value!r}; give a whole number of at least 1")
        shipped = str(source) in SHIPPED
        label = str(source) if shipped else Path(source).name
        content = _shipped(label) if shipped else _own(Path(source))
        self._tasks = tuple(
            _task(item, limit + limit_more * (len(item.groups) - 1))
            for item in parse_items(content, f"{label}.jsonl" if shipped else label)
        )
        plain = [attrs.asdict(task) for task in self._tasks]
        digest = hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()
        self._facts: dict[str, Any] = {
            "source": label,
            "items": len(self._tasks),
            "digest": digest,
            "limit": limit,
            "limit_more": limit_more,
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """Source, number and digest of the rendered tasks with their answers, and the limits."""
        return dict(self._facts)

    def tasks(self) -> tuple[Task, ...]:
        """The stream, in the order of the file; a task's domain is the item's family."""
        return self._tasks

    def environment(self, task: Task) -> ReadingEnvironment:
        """A fresh episode of this task."""
        return ReadingEnvironment(task)


class ReadingEnvironment:
    """One question: the first action is the answer, and the episode is over."""

    def __init__(self, task: Task) -> None:
        self._data = task.data
        self._answer: str | None = None

    def view(self) -> View:
        """Nothing beyond the task's own text, which holds passages and question."""
        return View()

    @property
    def done(self) -> bool:
        """Whether an answer was given."""
        return self._answer is not None

    def step(self, action: str) -> str:
        """Take the answer; the observation tells its length, never whether it was right.

        Raises:
            RuntimeError: an answer was given already.
        """
        if self._answer is not None:
            raise RuntimeError("a reading task takes one answer; it was given already")
        self._answer = extract(action)
        length, limit = len(words(self._answer)), self._data["limit"]
        if length > limit:
            return f"The answer has {length} words; more than {limit} are not accepted."
        return "The answer was taken."

    def outcome(self) -> Outcome:
        """The score, and as metrics what it is made of; all 0 before an answer.

        ``match`` and ``contains`` are shares of the required groups, whatever the length;
        ``wrong`` counts the wrong values named; ``words`` is the length; ``too_long`` is 0 or 1.
        """
        answer = self._answer or ""
        groups, wrong = self._data["groups"], self._data["wrong"]
        length = len(words(answer))
        too_long = length > self._data["limit"]
        found = listed(answer, groups)
        named = sum(match(answer, [value]) for value in wrong)
        score = 0.0 if too_long else max(0.0, found - named / len(groups))
        return Outcome(
            score=score,
            metrics={
                "match": found,
                "contains": sum(contains(answer, group) for group in groups) / len(groups),
                "wrong": float(named),
                "words": float(length),
                "too_long": float(too_long),
            },
        )


def extract(action: str) -> str:
    """The answer in an action: inside the last complete tag pair, else all of it without tags."""
    pairs = _PAIR.findall(action)
    return str(pairs[-1]).strip() if pairs else _TAG.sub(" ", action).strip()


def parse_items(content: bytes, label: str) -> tuple[Item, ...]:
    """Read a stream of items; blank lines are skipped.

    Args:
        content: the JSON Lines file, UTF-8.
        label: the file's name, for messages.

    Raises:
        BadInput: a line is no valid item, an id occurs twice, or there is no item.
    """
    items: list[Item] = []
    seen: dict[str, int] = {}
    # Only line feeds separate: a passage may hold any other line separator Unicode knows.
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        item = _item(line, f"{label}, line {number}")
        if item.id in seen:
            raise BadInput(
                f"{label}, line {number}: id {item.id!r} was used in line {seen[item.id]}; "
                "give each item its own"
            )
        seen[item.id] = number
        items.append(item)
    if not items:
        raise BadInput(f"{label}: no items; write one JSON object a line")
    return tuple(items)


# -- files -------------------------------------------------------------------------------------


def _shipped(name: str) -> bytes:
    return (resources.files("discernmem.data") / "reading" / f"{name}.jsonl").read_bytes()


def _own(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise BadInput(
            f"reading stream {str(path)!r}: {reason}; "
            f"name a JSON Lines file or one of {', '.join(SHIPPED)}"
        ) from error


# -- one line ----------------------------------------------------------------------------------


def _item(line: bytes, place: str) -> Item:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{place}: not JSON ({error.msg}); write one object a line") from error
    if not isinstance(row, dict):
        raise BadInput(f"{place}: not a JSON object; write one object a line")
    for field in sorted(_REQUIRED - row.keys()):
        raise BadInput(f"{place}: no field {field!r}; add it")
    for field in sorted(row.keys() - _REQUIRED - _OPTIONAL):
        raise BadInput(f"{place}: unknown field {field!r}; remove it or correct its name")
    if ("aliases" in row) == ("groups" in row):
        raise BadInput(f"{place}: needs either 'aliases' or 'groups'; give one of them")
    groups = row.get("groups", [row.get("aliases")])
    if not isinstance(groups, list) or not groups:
        raise BadInput(f"{place}: 'groups' is no list with a group in it; list the groups")
    field = "groups" if "groups" in row else "aliases"
    return Item(
        id=_text(row["id"], place, "id"),
        family=_text(row["family"], place, "family"),
        question=_text(row["question"], place, "question"),
        passages=_texts(row["passages"], place, "passages"),
        groups=tuple(_texts(group, place, field) for group in groups),
        wrong=_texts(row["wrong"], place, "wrong") if "wrong" in row else (),
    )


def _text(value: object, place: str, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{place}: {field!r} holds no text where text is wanted; write a string")
    return value


def _texts(value: object, place: str, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise BadInput(f"{place}: {field!r} is no list with a text in it; list at least one")
    return tuple(_text(part, place, field) for part in value)


# -- the task a team reads ---------------------------------------------------------------------


def _task(item: Item, limit: int) -> Task:
    passages = [f"Passage {at}: {text}" for at, text in enumerate(item.passages, start=1)]
    return Task(
        id=item.id,
        domain=item.family,
        text="\n".join([*passages, "", f"Question: {item.question}", _form(item)]),
        data={
            "groups": [list(group) for group in item.groups],
            "wrong": list(item.wrong),
            "limit": limit,
        },
    )


def _form(item: Item) -> str:
    # No figure for the limit: small models take a number here for the answer to the question.
    if len(item.groups) > 1:
        return "Give a short list, separated by commas, without explanation."
    return "Give a short answer, without explanation."
