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
from collections.abc import Callable

from ..eventlog.errors import BadInput
from ..replayers.benchmarks.base import Benchmark, Task
from ..replayers.hosts.base import Played, Stage
from .autogen_roles import USER, RoleClient, RoleMemory
from .plan import TeamHost
from .seats import Seats

try:
    from autogen_agentchat.base import TaskResult, TaskRunner
    from autogen_agentchat.messages import BaseChatMessage, StopMessage
except ImportError as error:
    raise BadInput(
        f"AutoGen cannot be imported ({error}); pip install 'discernmem[autogen]'"
    ) from error

# AutoGen logs what its agents raise; that is raised here again, so it is no news on a console. Who
# sets logging up still gets it.
logging.getLogger("autogen_core").addHandler(logging.NullHandler())


class AutoGenHost(TeamHost[Callable[["AutoGenSeats"], TaskRunner]]):
    """A team of AutoGen; its builder returns a team, or a single agent.

    In each step of the environment the team is run on the task and what happened so far; the text
    of its last chat message is the action.
    """

    framework = "autogen-agentchat"

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
        and message.source != USER
    ]
    return said[-1].to_model_text() if said else ""
