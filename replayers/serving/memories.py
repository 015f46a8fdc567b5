"""Where memories meet a request: what they are chosen by, and where their block goes."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.base import Message


def context_of(messages: Sequence[Message]) -> str:
    """The pre-action context of a role: its first request without what it is told it is.

    What the user side says stands as it is, what an assistant said before is marked as such.
    """
    told = [
        message.content if message.role == "user" else f"[{message.role}] {message.content}"
        for message in messages
        if message.role != "system"
    ]
    return "\n\n".join(told)


def with_block(messages: tuple[Message, ...], block: str) -> tuple[Message, ...]:
    """The messages with a block of memories at the end of the last one of the user.

    Without a block they are the same; without any user message the block is one.
    """
    if not block:
        return messages
    places = [at for at, message in enumerate(messages) if message.role == "user"]
    if not places:
        return (*messages, Message("user", block))
    last = places[-1]
    extended = Message("user", f"{messages[last].content}\n\n{block}")
    return (*messages[:last], extended, *messages[last + 1 :])
