"""What every framework's adapter needs: who sits where, what each reads, and what each is asked.

A framework builds and runs its team as it always does. Only its models are ours: one per role, each
of which asks the stage. So every call is recorded under its role, a role's memories reach only what
that role reads, and a search that a role asks for is made before the framework sees the reply.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..eventlog.errors import BadInput, DiscernmemError
from ..replayers.benchmarks.base import Benchmark, Task
from ..replayers.hosts.base import Played, Stage, Turn
from ..replayers.hosts.episode import Episode
from ..replayers.hosts.graph import NO_MORE
from ..replayers.hosts.prompts import aloud, pre_action_context, user_message
from ..replayers.models.base import Message
from ..replayers.search.protocol import query_of
from .plan import Plan


class Seats:
    """The seats of a team in one episode, from its first pass to its last.

    Attributes:
        protocol: by which instructions the benchmark is played (``reading``, ``pddl``, ``qa`` …).
        searches: how often each searching role may look something up in one pass, 0 for never.
    """

    def __init__(self, plan: Plan, benchmark: Benchmark, task: Task, stage: Stage) -> None:
        self.protocol = benchmark.protocol
        self.searches = benchmark.searches if benchmark.searcher is not None else 0
        self._plan = plan
        self._stage = stage
        self._episode = Episode(benchmark, task)
        if self._episode.view.choices:
            raise BadInput(
                f"host {plan.name}: its team cannot be held to the valid actions; "
                "switch the benchmark's constrain_actions off"
            )
        self._thread = threading.get_ident()
        self._calls: dict[str, int] = {}
        self._blocks: dict[str, str] = {}
        self._contexts: dict[str, str] = {}
        self._failure: Exception | None = None
        self._spoke = ""
        self._left: dict[str, int] = {}

    @property
    def prompt(self) -> str:
        """What the team is given in this pass: the task, what happened so far, the aids."""
        return user_message(self._episode)

    # -- for the host --------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the episode ended."""
        return self._episode.done

    @contextmanager
    def one_pass(self) -> Iterator[None]:
        """One pass of the team, from its building to its last word.

        Raises:
            DiscernmemError: what a seat met with, unchanged, whatever the framework made of it.
            BadInput: the team itself failed.
        """
        self._spoke = ""
        self._left = dict.fromkeys(self._plan.searching, self.searches)
        try:
            yield
        except DiscernmemError:
            if self._failure is None:
                raise
        except Exception as error:
            if self._failure is None:
                raise BadInput(
                    f"host {self._plan.name}: its team failed on task {self._episode.task.id}: "
                    f"{_first_line(error)}; correct the team"
                ) from error
        if self._failure is not None:
            raise self._failure from None

    def act(self, text: str) -> None:
        """Hand the team's last word to the environment, as the action of who spoke last.

        Raises:
            BadInput: nobody who owns memories has said anything in this pass.
        """
        if not self._spoke:
            raise BadInput(
                f"host {self._plan.name}: on task {self._episode.task.id} its team ended before "
                "any of its roles spoke; does the task's text meet its termination condition?"
            )
        self._episode.act(self._spoke, text)

    def played(self) -> Played:
        """What the episode produced."""
        return self._episode.played(self._contexts)

    # -- for the adapters ----------------------------------------------------------------------

    def owner(self, role: str) -> str:
        """``role``, if it is one that owns memories.

        Raises:
            BadInput: it is not.
        """
        return self._known(role, self._plan.roles, "roles")

    def unowned(self, role: str) -> str:
        """``role``, if it is declared as one that owns no memories.

        Raises:
            BadInput: it is not.
        """
        return self._known(role, self._plan.hidden, "hidden")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep whatever goes wrong in here; after that, every seat only repeats it.

        Frameworks wrap the exceptions of their models, or swallow them and go on.
        """
        if self._failure is not None:
            raise self._failure
        try:
            if threading.get_ident() != self._thread:
                raise BadInput(
                    f"host {self._plan.name}: its team asks from another thread, so its course "
                    "depends on time; switch time-outs and threads of its agents off"
                )
            yield
        except Exception as error:
            self._failure = error
            raise

    def block(self, role: str, heard: Sequence[tuple[str, str]]) -> str:
        """The memories of ``role``, chosen at its first call in the episode, empty for none.

        Args:
            role: the owner.
            heard: what it is about to receive, each message with who said it. The pass's own
                prompt is taken out of it: the task and the first observation stand for it.
        """
        if role not in self._blocks:
            task, prompt = self._episode.task.text, self.prompt
            rest = [(who, text.replace(prompt, "").strip()) for who, text in heard]
            context = pre_action_context(
                task, self._episode.initial, [(who, text) for who, text in rest if text]
            )
            self._contexts[role] = context
            self._blocks[role] = self._stage.supply(role, context)
        return self._blocks[role]

    def ask(
        self, role: str, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
    ) -> str:
        """What ``role`` says; if it asks for a search, it is asked again with what was found.

        What it reasons is in the trajectory; nobody else hears it, and it is no action.

        Raises:
            BadInput: the role owns memories and was not offered them before.
        """
        if role in self._plan.roles and role not in self._blocks:
            raise BadInput(
                f"host {self._plan.name}: {role} is asked without having read its memories; give "
                f"its agent memory=[seats.memory({role!r})]"
            )
        found: list[Message] = []
        while True:
            reply = self._say(role, readable([*messages, *found]), schema)
            query = query_of(reply) if schema is None and self._left.get(role) else None
            if query is None:
                return reply
            self._left[role] -= 1
            found.append(Message("user", f"<search>{query}</search>"))
            passages = self._stage.search(query)
            self._episode.information(passages)
            found.append(Message("user", passages.text))
            if not self._left[role]:
                found.append(Message("user", NO_MORE))

    def _say(
        self, role: str, messages: tuple[Message, ...], schema: Mapping[str, Any] | None
    ) -> str:
        self._calls[role] = self._calls.get(role, 0) + 1
        turn = Turn(role=role, number=self._calls[role], messages=messages, schema=schema)
        (spoken,) = self._stage.ask([turn])
        self._episode.message(role, spoken)
        if role in self._plan.roles:
            self._spoke = role
        return aloud(spoken.text)

    def _known(self, role: str, known: Sequence[str], where: str) -> str:
        if role not in known:
            listed = ", ".join(known) or "none"
            raise BadInput(
                f"host {self._plan.name}: {role!r} is not among its {where} ({listed}); "
                f"add it to {where}="
            )
        return role


def readable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as every chat template takes them.

    Only what comes first is a system message, and no two neighbours are of one chat role: many
    templates refuse anything else. A block of memories thus ends the user message it follows.
    """
    joined: list[Message] = []
    for message in messages:
        system_first = all(earlier.role == "system" for earlier in joined)
        role = message.role if message.role != "system" or system_first else "user"
        if joined and joined[-1].role == role:
            joined[-1] = Message(role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(Message(role, message.content))
    return tuple(joined)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
