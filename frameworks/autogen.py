"""Teams of AutoGen (``autogen-agentchat``) as hosts; needs ``discernmem[autogen]``.

Whoever builds a team of assistant agents builds it here as well, with the models and the memories
of its seats::

    def build(seats):
        def agent(role, told):
            return AssistantAgent(role, seats.client(role), system_message=told,
                                  memory=[seats.memory(role)])
        return RoundRobinGroupChat([agent("planner", "…"), agent("writer", "…")], max_turns=2)

    team = AutoGenHost("pair", ["planner", "writer"], build)

Calls are answered one by one in the order in which AutoGen makes them, in the thread that plays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal

from ..eventlog.errors import BadInput
from ..replayers.benchmarks.base import Benchmark, Task
from ..replayers.hosts.base import Played, Stage
from ..replayers.models.base import Message
from .plan import plan_of
from .seats import Seats

try:
    from autogen_agentchat.base import TaskResult, TaskRunner
    from autogen_agentchat.messages import BaseChatMessage, StopMessage
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

# AutoGen logs what its agents raise; that is raised here again, so it is no news on a console. Who
# sets logging up still gets it.
logging.getLogger("autogen_core").addHandler(logging.NullHandler())

_CHARACTERS_PER_TOKEN = 4
_USER = "user"
"""Whom AutoGen names as the source of a task."""


class AutoGenHost:
    """A team of AutoGen, built anew for every pass, so that no pass knows of another.

    In each step of the environment the team is run on the task and what happened so far; the text
    of its last chat message is the action.

    Args:
        name: the host's name.
        roles: the roles that own memories.
        build: takes the seats and returns a team, or a single agent.
        hidden: roles that own none, as a selector's.
        searching: the roles that may look things up, by ``<search>query</search>``, where the
            benchmark offers it.

    Raises:
        BadInput: roles that are no names, or a builder that is in no file.
    """

    def __init__(
        self,
        name: str,
        roles: Sequence[str],
        build: Callable[[AutoGenSeats], TaskRunner],
        *,
        hidden: Sequence[str] = (),
        searching: Sequence[str] = (),
    ) -> None:
        self._build = build
        self._plan = plan_of(
            name, roles, build, framework="autogen-agentchat", hidden=hidden, searching=searching
        )

    @property
    def name(self) -> str:
        """The host's name."""
        return self._plan.name

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that own memories."""
        return self._plan.roles

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:  # noqa: ARG002
        """The roles, the framework's version, and the builder with the digest of its file."""
        return dict(self._plan.facts)

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode, pass by pass."""
        seats = AutoGenSeats(self._plan, benchmark, task, stage)
        while not seats.done:
            with seats.one_pass():
                text = _last_word(_run(self._build, seats))
            seats.act(text)
        return seats.played()


class AutoGenSeats(Seats):
    """What a builder of an AutoGen team takes its models and memories from."""

    def client(self, role: str) -> RoleClient:
        """The model of ``role``, for the agent that plays it and for no other."""
        return RoleClient(self, self.owner(role))

    def memory(self, role: str) -> RoleMemory:
        """The memory of ``role``, for the same agent."""
        return RoleMemory(self, self.owner(role))

    def hidden(self, role: str) -> RoleClient:
        """The model of a role that owns no memories and whose calls are recorded all the same."""
        return RoleClient(self, self.unowned(role))


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
                    "no functions, and its sampling is set by the run"
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


def _run(build: Callable[[AutoGenSeats], TaskRunner], seats: AutoGenSeats) -> TaskResult:
    async def go() -> TaskResult:
        return await build(seats).run(task=seats.prompt)

    # Not Runner.run: its way with Ctrl-C would let the team finish its pass first.
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            return loop.run_until_complete(go())
        except KeyboardInterrupt:
            # What AutoGen's cut off tasks complain of is of no use to anyone.
            loop.set_exception_handler(lambda _, context: None)  # noqa: ARG005
            raise


def _last_word(result: TaskResult) -> str:
    said = [
        message
        for message in result.messages
        if isinstance(message, BaseChatMessage)
        and not isinstance(message, StopMessage)
        and message.source != _USER
    ]
    return said[-1].to_model_text() if said else ""


def _read(message: LLMMessage, role: str) -> Message:
    """A message as a model reads it: with its speaker, where that is a colleague."""
    if isinstance(message, SystemMessage):
        return Message("system", message.content)
    if isinstance(message, AssistantMessage):
        return Message("assistant", _text(message.content, role))
    if isinstance(message, UserMessage):
        text = _text(message.content, role)
        return Message("user", text if message.source == _USER else f"[{message.source}] {text}")
    raise BadInput(f"{role} is shown the result of a function; its model takes none")


def _text(content: object, role: str) -> str:
    if not isinstance(content, str):
        raise BadInput(f"{role} is shown something that is no text; its model reads only text")
    return content


def _schema(json_output: bool | type[BaseModel] | None) -> Mapping[str, Any] | None:
    if not json_output:
        return None
    return {"type": "object"} if json_output is True else json_output.model_json_schema()
