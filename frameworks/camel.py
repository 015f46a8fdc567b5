"""Teams of CAMEL (``camel-ai``) as hosts; needs ``discernmem[camel]``.

A builder takes the models of its seats and returns what runs one pass: a function from the prompt
to the team's last word. `in_a_row` and `role_playing` are two such functions, ready made::

    def build(seats):
        return in_a_row({
            "planner": seats.agent("planner", "You plan …"),
            "writer": seats.agent("writer", "You answer …"),
        })

    team = CamelHost("pair", ["planner", "writer"], build)

Memories enter where a model is called, at the end of what it reads: CAMEL's own way of adding to a
system message does not reach the model.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..eventlog.errors import BadInput
from ..replayers.benchmarks.base import Benchmark, Task
from ..replayers.hosts.base import Played, Stage
from ..replayers.models.base import Message
from .plan import TeamHost
from .seats import Seats

# CAMEL sets logging up to standard output, where commands print what they found. What its agents
# raise is raised here again, so nothing is lost; who wants its log adds a handler to its logger.
_logger = logging.getLogger("camel")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False

try:
    from camel.agents import ChatAgent
    from camel.messages import OpenAIMessage
    from camel.models import BaseModelBackend
    from camel.models.stub_model import StubTokenCounter
    from camel.societies import RolePlaying
    from openai.types.chat import ChatCompletion
    from pydantic import BaseModel
except ImportError as error:
    raise BadInput(
        f"CAMEL cannot be imported ({error}); pip install 'discernmem[camel]'"
    ) from error

Pass = Callable[[str], str]
"""One pass of a team: from its prompt to its last word, which is the action."""

DONE = "CAMEL_TASK_DONE"
"""By which the user of a role playing says that the task is done."""


class CamelHost(TeamHost[Callable[["CamelSeats"], Pass]]):
    """A team of CAMEL; its builder returns what runs one pass."""

    framework = "camel-ai"

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode, pass by pass."""
        seats = CamelSeats(self._plan, benchmark, task, stage)
        while not seats.done:
            with seats.one_pass():
                text = self._build(seats)(seats.prompt)
            seats.act(text)
        return seats.played()


class CamelSeats(Seats):
    """What a builder of a CAMEL team takes its models from."""

    def model(self, role: str) -> RoleModel:
        """The model of ``role``, for the agent that plays it and for no other.

        An agent that is built with it needs ``summarize_threshold=None`` and ``step_timeout=None``,
        else it rewrites what it has read, and asks from another thread by the clock.
        """
        return RoleModel(self, self.owner(role), owns=True)

    def hidden(self, role: str) -> RoleModel:
        """The model of a role that owns no memories and whose calls are recorded all the same."""
        return RoleModel(self, self.unowned(role), owns=False)

    def agent(self, role: str, told: str, **options: Any) -> ChatAgent:
        """An agent for ``role`` under the system message ``told``, with what `model` asks for."""
        return ChatAgent(told, **{**agent_options(self.model(role)), **options})


def agent_options(model: RoleModel) -> dict[str, Any]:
    """The options of an agent that plays by its course alone, not by the clock."""
    return {"model": model, "summarize_threshold": None, "step_timeout": None}


def in_a_row(agents: Mapping[str, ChatAgent]) -> Pass:
    """Agents that speak one after the other, each hearing the prompt and all before it."""

    def run(prompt: str) -> str:
        said = ""
        heard = prompt
        for role, agent in agents.items():
            said = _words(agent.step(heard))
            heard = f"{heard}\n\n[{role}] {said}"
        return said

    return run


def role_playing(
    seats: CamelSeats, assistant: str, user: str, *, rounds: int, **options: Any
) -> Pass:
    """CAMEL's role playing over the task, for at most ``rounds``; its word is the assistant's last.

    Args:
        seats: where both sit.
        assistant: the role that solves.
        user: the role that instructs.
        rounds: how often both speak, unless the user says that the task is done.
        options: of `RolePlaying`; the task is not specified further unless they say so.
    """

    def run(prompt: str) -> str:
        session = RolePlaying(
            assistant,
            user,
            **{
                "with_task_specify": False,
                "task_prompt": prompt,
                "assistant_agent_kwargs": agent_options(seats.model(assistant)),
                "user_agent_kwargs": agent_options(seats.model(user)),
                **options,
            },
        )
        message = session.init_chat()
        said = ""
        for _ in range(rounds):
            solved, instructed = session.step(message)
            if not solved.msgs:
                break
            message = solved.msgs[0]
            said = message.content
            if DONE in _words(instructed):
                break
        return said

    return run


class RoleModel(BaseModelBackend):
    """The model as one role calls it; what it samples with is for the run to say.

    It takes no functions and no images. Usage is not known here and told as 0.
    """

    def __init__(self, seats: Seats, role: str, *, owns: bool) -> None:
        super().__init__(role)
        self._seats = seats
        self._role = role
        self._owns = owns

    @property
    def token_counter(self) -> StubTokenCounter:
        """One that needs no download; nothing is cut by it."""
        return StubTokenCounter()

    @property
    def token_limit(self) -> int:
        """How much an agent may gather: what is too much is for the model to say."""
        return sys.maxsize

    def _run(
        self,
        messages: list[OpenAIMessage],
        response_format: type[BaseModel] | None = None,
        tools: list[dict[str, Any]] | None = None,
    ) -> ChatCompletion:
        with self._seats.kept():
            if tools:
                raise BadInput(
                    f"{self._role} is asked with tools; its model takes no functions, build its "
                    "agent without"
                )
            said = [_read(message, self._role) for message in messages]
            if self._owns:
                heard = [(each.role, each.content) for each in said if each.role != "system"]
                block = self._seats.block(self._role, heard)
                said += [Message("user", block)] if block else []
            schema = response_format.model_json_schema() if response_format else None
            text = self._seats.ask(self._role, said, schema)
        return _completion(self._role, text)

    async def _arun(
        self,
        messages: list[OpenAIMessage],
        response_format: type[BaseModel] | None = None,
        tools: list[dict[str, Any]] | None = None,
    ) -> ChatCompletion:
        return self._run(messages, response_format, tools)


def _read(message: OpenAIMessage, role: str) -> Message:
    chat_role: str = message["role"]
    content = message.get("content")
    if chat_role == "developer":
        chat_role = "system"
    if chat_role not in ("system", "user", "assistant"):
        raise BadInput(f"{role} is shown the result of a function; build its agent without")
    if not isinstance(content, str):
        raise BadInput(f"{role} is shown something that is no text; give its agent only text")
    return Message(chat_role, str(content))  # CAMEL has kinds of strings of its own


def _completion(role: str, text: str) -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": "reply",
            "model": role,
            "object": "chat.completion",
            "created": 0,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }
    )


def _words(response: Any) -> str:
    return "\n\n".join(message.content for message in response.msgs)
