"""TriviaQA and PopQA: one question, a search, one short answer.

Score. The answer is what stands between the last complete ``<answer>`` tags, otherwise the whole
last reply. Two accuracies are reported, and the option ``accuracy`` says which is the score:

- ``match``, the default: an accepted answer occurs in it as a run of whole words
  (`answers.match`), and it has no more words than ``limit`` or than the longest accepted answer.
  The limit is there so that naming every candidate, or repeating the passages, earns nothing.
- ``contains``, the paper's, for comparison: an accepted answer, lower-cased, occurs anywhere in it,
  whatever its length. It finds ``US`` in ``Russia``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import attrs
import orjson

from ....eventlog.errors import BadInput
from ...datasets import (
    Manifest,
    Row,
    Rows,
    make_manifest,
    read_manifest,
    read_rows,
    sequential,
    stratified,
)
from ...search.local import index_of, open_index
from ...search.passages import read_passages
from ...search.service import ServiceSearcher
from ..answers import words
from ..base import Benchmark, Searcher, Task
from .episode import ACCURACIES, QaEnvironment
from .questions import COLUMNS, Question, plain_question, pop_question, text_field, trivia_question

DEMO = "demo"
HUB = "hub"

_FORM = "Give the answer alone, a name, a number or a few words: <answer>the answer</answer>"


@attrs.frozen(kw_only=True)
class Published:
    """A data set as it is published: where, which split, from which row on, and how it is read.

    ``stratum`` is the field by whose values the stream is mixed, empty for the order of the file.
    """

    source: str
    split: str
    start: int
    read: Callable[[Row], Question]
    stratum: str = ""


class QaBenchmark(Benchmark):
    """A stream of questions and what their answers are looked up in.

    Args:
        source: ``demo`` (our own questions, which ship), ``hub`` (the data set as the paper
            plays it), ``hf:OWNER/NAME…``, or the path of a file or folder, in the form of the
            published data set or in our own.
        split: which split of a hub's data set or of a folder; None for the published one.
        start: the first row to play; None for the published start, 0 for our own form.
        seed: decides the order where streams are mixed (PopQA).
        manifest: a file that says which rows to play, instead of ``start`` and ``seed``.
        index: an index that `discernmem index` made, to search in.
        retriever: the address of a retrieval service, to search instead.
        searches: most searches of each role that may search; 0 to play without.
        passages: passages found by each.
        accuracy: ``match`` or ``contains``, which of the two is the score.
        limit: most words of an answer that `match` takes; a longer accepted answer raises it.

    Raises:
        BadInput: the stream, the index or an option is not usable.
        Infrastructure: the hub cannot be reached.
    """

    protocol = "qa"
    published: ClassVar[Published]
    demo_hops: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        source: str | Path = DEMO,
        *,
        split: str | None = None,
        start: int | None = None,
        seed: int = 0,
        manifest: str | Path | None = None,
        index: str | Path | None = None,
        retriever: str | None = None,
        searches: int = 4,
        passages: int = 3,
        accuracy: str = "match",
        limit: int = 12,
    ) -> None:
        for option, text in (
            ("source", source),
            ("split", split),
            ("manifest", manifest),
            ("index", index),
            ("retriever", retriever),
        ):
            if text is not None and (not isinstance(text, str | Path) or not str(text)):
                raise BadInput(f"{option} is {text!r}; give a text, or leave it out")
        if start is not None and manifest is not None:
            raise BadInput("start and manifest both say which rows to play; give one of them")
        if accuracy not in ACCURACIES:
            raise BadInput(f"accuracy is {accuracy!r}; give {' or '.join(ACCURACIES)}")
        for option, value, least in (
            ("start", 0 if start is None else start, 0),
            ("seed", seed, 0),
            ("searches", searches, 0),
            ("passages", passages, 1),
            ("limit", limit, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadInput(f"{option} is {value!r}; give a whole number of at least {least}")
        self.searches = searches
        self.passages = passages
        self.searcher = _searcher(source, index, retriever) if searches else None
        rows = self._rows(source, split)
        plain = "answers" in rows.rows[0].fields
        if manifest is not None:
            self.manifest = read_manifest(Path(manifest).expanduser())
        else:
            self.manifest = self._ordered(rows, source == DEMO, plain, start, seed)
        read = plain_question if plain else self.published.read
        self._tasks = _tasks([read(row) for row in self.manifest.rows(rows)], limit)
        self._accuracy = accuracy
        self._limit = limit

    @property
    def facts(self) -> Mapping[str, Any]:
        """Which rows, the digest of the tasks with their answers, the search, and the scoring."""
        plain = [attrs.asdict(task) for task in self._tasks]
        return {
            "source": self.manifest.source,
            "items": len(self._tasks),
            "digest": hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest(),
            "stream": self.manifest.facts,
            "search": None if self.searcher is None else dict(self.searcher.facts),
            "searches": self.searches,
            "passages": self.passages,
            "accuracy": self._accuracy,
            "limit": self._limit,
        }

    def tasks(self) -> tuple[Task, ...]:
        """The stream; a task's domain is the question's relation or field of knowledge."""
        return self._tasks

    def environment(self, task: Task) -> QaEnvironment:
        """A fresh episode of this task."""
        return QaEnvironment(task, self._accuracy)

    def _rows(self, source: str | Path, split: str | None) -> Rows:
        if source == DEMO:
            with resources.as_file(_shipped("questions.jsonl")) as path:
                return attrs.evolve(read_rows(path, columns=COLUMNS), source=DEMO)
        named = self.published.source if source == HUB else source
        return read_rows(named, split=split or self.published.split, columns=COLUMNS)

    def _ordered(
        self, rows: Rows, demo: bool, plain: bool, start: int | None, seed: int
    ) -> Manifest:
        """All rows from the start on, in the order of the published benchmark."""
        first = start if start is not None else 0 if plain else self.published.start
        held = [
            at
            for at, row in enumerate(rows.rows)
            if not demo or row.fields["hops"] in self.demo_hops
        ]
        if self.published.stratum:
            column = "domain" if plain else self.published.stratum
            strata = [text_field(rows.rows[at], column) for at in held]
            said, order = stratified(strata, seed, column=column, start=first)
        else:
            said, order = sequential(len(held), start=first)
        said = {**said, "hops": list(self.demo_hops)} if demo else said
        return make_manifest(rows, (said, [held[at] for at in order]))


class TriviaQaBenchmark(QaBenchmark):
    """TriviaQA, in the order of the file; of our own set all questions."""

    name = "triviaqa"
    published = Published(
        source="hf:mandarjoshi/trivia_qa:rc.wikipedia.nocontext",
        split="validation",
        start=1000,
        read=trivia_question,
    )
    demo_hops = (1, 2)


class PopQaBenchmark(QaBenchmark):
    """PopQA, its relations mixed evenly; of our own set the questions that take one search."""

    name = "popqa"
    published = Published(
        source="hf:akariasai/PopQA", split="test", start=7000, read=pop_question, stratum="prop"
    )
    demo_hops = (1,)


def _shipped(name: str) -> Any:
    return resources.files("discernmem.data") / "qa" / name


def _searcher(source: str | Path, index: str | Path | None, retriever: str | None) -> Searcher:
    if index is not None and retriever is not None:
        raise BadInput("index and retriever are both given; give one of them")
    if retriever is not None:
        return ServiceSearcher(retriever)
    if index is not None:
        return open_index(Path(index).expanduser())
    if source != DEMO:
        raise BadInput(
            f"source {str(source)!r} needs what its answers are looked up in: give index=FILE "
            "(see `discernmem index`), retriever=http://host:port, or searches=0 to play without"
        )
    with resources.as_file(_shipped("passages.jsonl")) as path:
        return index_of(read_passages(path), "the demo's passages")


def _tasks(questions: list[Question], limit: int) -> tuple[Task, ...]:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise BadInput(f"id {question.id!r} occurs twice in the stream; give each its own")
        seen.add(question.id)
    return tuple(
        Task(
            id=question.id,
            domain=question.domain,
            text=f"{question.text}\n{_FORM}",
            data={
                "aliases": list(question.aliases),
                "names": list(question.names),
                "limit": max(limit, *(len(words(name)) for name in question.names)),
            },
        )
        for question in questions
    )
