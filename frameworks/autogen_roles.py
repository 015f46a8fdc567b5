"""How a role of an AutoGen team calls its model and reads its memories."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from ..eventlog.errors import BadInput
from ..replayers.models.base import Message
from .seats import Seats

try:
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import (
        AssistantMessage,
        ChatCompletionClient,
        CreateResult,
        LLMMessage,
        ModelFamily,
        ModelInfo,
        RequestUsage,
        SystemMessage,
        UserMessage,
    )
    from autogen_core.tools import Tool, ToolSchema
    from pydantic import BaseModel
except ImportError as error:
    raise BadInput(
        f"AutoGen cannot be imported ({error}); pip install 'discernmem[autogen]'"
    ) from error

USER = "user"
"""Whom AutoGen names as the source of a task."""

_CHARACTERS_PER_TOKEN = 4


class RoleClient(ChatCompletionClient):
    """The model as one role calls it; what it samples with is for the run to say.

    It takes no functions and no images. Usage is not known here and told as 0.
    """

    component_type = "model"
    component_config_schema = BaseModel

    def __init__(self, seats: Seats, role: str) -> None:
        self._seats = seats
        self._role = role

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",  # noqa: ARG002
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002
    ) -> CreateResult:
        """The role's reply; ``json_output`` is held to as a JSON schema."""
        with self._seats.kept():
            if tools or extra_create_args:
                raise BadInput(
                    f"{self._role} is asked with "
                    f"{'tools' if tools else ', '.join(extra_create_args or ())}; its model takes "
                    "no functions and no options, build its agent without"
                )
            said = [_read(message, self._role) for message in messages]
            text = self._seats.ask(self._role, said, _schema(json_output))
        return CreateResult(
            finish_reason="stop", content=text, usage=self.total_usage(), cached=False
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The whole reply as one piece, then the result."""
        result = await self.create(messages, **options)
        assert isinstance(result.content, str)
        yield result.content
        yield result

    async def close(self) -> None:
        """Nothing is held open."""

    def actual_usage(self) -> RequestUsage:
        """Not known here."""
        return self.total_usage()

    def total_usage(self) -> RequestUsage:
        """Not known here."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def count_tokens(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),  # noqa: ARG002
    ) -> int:
        """An estimate of four characters to a token."""
        letters = sum(len(_read(message, self._role).content) for message in messages)
        return -(-letters // _CHARACTERS_PER_TOKEN)

    def remaining_tokens(
        self,
        messages: Sequence[LLMMessage],  # noqa: ARG002
        *,
        tools: Sequence[Tool | ToolSchema] = (),  # noqa: ARG002
    ) -> int:
        """Refused: how much a model takes is not known here."""
        with self._seats.kept():
            raise BadInput(
                f"the context of {self._role} asks how many tokens remain, which is not known; "
                "give it a token_limit"
            )

    @property
    def capabilities(self) -> ModelInfo:
        """As `model_info`, under its older name."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """Text in and out, JSON held to a schema, no functions."""
        return ModelInfo(
            vision=False,
            function_calling=False,
            json_output=True,
            structured_output=True,
            multiple_system_messages=True,
            family=ModelFamily.UNKNOWN,
        )


class RoleMemory(Memory):
    """The memories of one role, as AutoGen adds them to what its agent reads."""

    component_config_schema = BaseModel

    def __init__(self, seats: Seats, role: str) -> None:
        self._seats = seats
        self._role = role

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add the role's block as one message, unless the context holds it already.

        No content is reported: AutoGen would make an event of it, and a team that counts events
        would take another course with memories than without.
        """
        with self._seats.kept():
            context = await model_context.get_messages()
            heard = [
                (message.source, _text(message.content, self._role))
                for message in context
                if isinstance(message, UserMessage | AssistantMessage)
            ]
            block = self._seats.block(self._role, heard)
        if block and all(message.content != block for message in context):
            await model_context.add_message(SystemMessage(content=block))
        return UpdateContextResult(memories=MemoryQueryResult(results=[]))

    async def query(
        self,
        query: str | MemoryContent,  # noqa: ARG002
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002
        **options: Any,  # noqa: ARG002
    ) -> MemoryQueryResult:
        """Nothing: memories are chosen by the run, at the role's first call."""
        return MemoryQueryResult(results=[])

    async def add(
        self,
        content: MemoryContent,  # noqa: ARG002
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002
    ) -> None:
        """Refused: memories come from the run alone."""
        with self._seats.kept():
            raise BadInput(f"the team adds a memory for {self._role} itself; leave that to the run")

    async def clear(self) -> None:
        """Nothing is kept here."""

    async def close(self) -> None:
        """Nothing is held open."""


def _read(message: LLMMessage, role: str) -> Message:
    """A message as a model reads it: with its speaker, where that is a colleague."""
    if isinstance(message, SystemMessage):
        return Message("system", message.content)
    if isinstance(message, AssistantMessage):
        return Message("assistant", _text(message.content, role))
    if isinstance(message, UserMessage):
        text = _text(message.content, role)
        return Message("user", text if message.source == USER else f"[{message.source}] {text}")
    raise BadInput(f"{role} is shown the result of a function; build its agent without")


def _text(content: object, role: str) -> str:
    if not isinstance(content, str):
        raise BadInput(f"{role} is shown something that is no text; give its agent only text")
    return content


def _schema(json_output: bool | type[BaseModel] | None) -> Mapping[str, Any] | None:
    if not json_output:
        return None
    return {"type": "object"} if json_output is True else json_output.model_json_schema()
