"""The gateway: every word a model says passes here and is on disk before anyone reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import attrs

from ..eventlog import events as ev
from ..eventlog.codec import canonical, digest, digest_json
from ..eventlog.log import EventLog, Recorded
from ..projections.trajectories import reply_text
from .journal import Journal, Observation
from .models.base import Model, ModelCall, Reply, at_once, complete_all
from .models.cards import clean
from .plugins import blaming
from .progress import Asking

INLINE_BYTES = 1024
"""Longer answers go to a blob."""


@attrs.frozen
class Answered:
    """A recorded reply: its text and the id of the event that holds it."""

    text: str
    event_id: str


@attrs.frozen
class Question:
    """A call to be made: for what, and as which role."""

    call: ModelCall
    purpose: str
    role: str | None


class Gateway:
    """Asks one model through the journal; offline it needs only the model's fingerprint."""

    def __init__(self, journal: Journal, fingerprint: str, model: Model | None) -> None:
        self._journal = journal
        self._fingerprint = fingerprint
        self._model = model

    def complete(self, call: ModelCall, *, purpose: str, role: str | None, cause: str) -> Answered:
        """The model's answer to ``call``, from the log when it is recorded there.

        Raises:
            Infrastructure: the model cannot answer at all.
        """
        (answer,) = self.complete_all([Question(call, purpose, role)], cause=cause)
        return answer

    def complete_all(self, questions: Sequence[Question], *, cause: str) -> list[Answered]:
        """The answers to questions that do not depend on each other, recorded in their order.

        At one that is not recorded, a model that can is asked it and those after it at once.

        Raises:
            Infrastructure: the model cannot answer at all.
        """
        replies: dict[int, Reply] = {}

        def fetched(number: int) -> Reply:
            if number not in replies:
                assert self._model is not None
                # Not more than at once: what is answered in turn is recorded in turn.
                upto = number + at_once(self._model)
                calls = [question.call for question in questions[number:upto]]
                self._journal.tell(Asking(_words(questions[number]), len(calls)))
                with blaming("model", "correct it, then resume the log"):
                    answers = complete_all(self._model, calls)
                replies.update(enumerate(answers, start=number))
            return replies[number]

        return [
            self._answer(question, partial(fetched, number), cause)
            for number, question in enumerate(questions)
        ]

    def _answer(self, question: Question, fetch: Callable[[], Reply], cause: str) -> Answered:
        call, purpose, role = question.call, question.purpose, question.role
        request = self._request(call)

        def ask() -> Observation:
            reply = fetch()
            reply = attrs.evolve(reply, text=clean(reply.text))
            return _observation(request, call, reply, purpose, role)

        recorded = self._journal.observe(
            request,
            ask,
            cause=cause,
            what=f"a reply for {purpose if role is None else f'{purpose} of {role}'}",
            repeats=purpose == "role",
        )
        return Answered(self.text_of(self._journal.log, recorded), recorded.event_id)

    def _request(self, call: ModelCall) -> str:
        return digest_json(
            {
                "kind": "model",
                "model": self._fingerprint,
                "messages": [[message.role, message.content] for message in call.messages],
                "temperature": call.temperature,
                "top_p": call.top_p,
                "max_tokens": call.max_tokens,
                "seed": call.seed,
                "schema": dict(call.schema) if call.schema is not None else None,
            }
        )

    @staticmethod
    def text_of(log: EventLog, recorded: Recorded) -> str:
        """The whole text of a recorded reply."""
        event = recorded.event
        assert isinstance(event, ev.ModelReplied)
        return reply_text(log, event)


def _words(question: Question) -> str:
    purpose = "answer" if question.purpose == "role" else question.purpose
    return purpose if question.role is None else f"{purpose} of {question.role}"


def _observation(
    request: str, call: ModelCall, reply: Reply, purpose: str, role: str | None
) -> Observation:
    blobs: dict[str, bytes] = {}

    def keep(content: bytes) -> ev.BlobRef:
        name = digest(content)
        blobs[name] = content
        return ev.BlobRef(name)

    text = reply.text.encode()
    long = len(text) > INLINE_BYTES
    event = ev.ModelReplied(
        request=request,
        purpose=purpose,
        role=role,
        messages=tuple(
            ev.MessageRef(role=message.role, content=keep(message.content.encode()))
            for message in call.messages
        ),
        temperature=float(call.temperature),
        top_p=float(call.top_p),
        max_tokens=call.max_tokens,
        seed=call.seed,
        schema=keep(canonical(dict(call.schema))) if call.schema is not None else None,
        text=None if long else reply.text,
        text_blob=keep(text) if long else None,
        finish=reply.finish,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
    )
    return Observation(event, tuple(blobs.values()))
