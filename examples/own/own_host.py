"""A host of one's own: two roles that no fixed graph can hold, as they talk until they agree."""

from __future__ import annotations

from typing import Any

from discernmem.replayers.benchmarks.base import Benchmark, Task
from discernmem.replayers.hosts.base import Host, Played, Stage, Turn
from discernmem.replayers.hosts.episode import Episode
from discernmem.replayers.hosts.prompts import pre_action_context, user_message
from discernmem.replayers.models.base import Message

ROUNDS = 3
TOLD = {
    "writer": "You propose the next answer or action for a task. Heed the objections of your "
    "reviewer. Reply with the answer or action only, in the form the task asks for.",
    "reviewer": "You review what your colleague wants to answer or do next. Reply AGREED if it "
    "serves the task, else say in one sentence what to change.",
}


class ReviewHost(Host):
    """The writer acts once the reviewer agrees, or after three rounds."""

    name = "review"
    roles = ("writer", "reviewer")

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:  # noqa: ARG002 it plays any
        """All that decides a prompt; how often a role speaks is decided while they play."""
        roles = [["writer", ["reviewer"]], ["reviewer", ["writer"]]]
        said = {"instructions": TOLD, "rounds": ROUNDS}
        return {"name": self.name, "roles": roles, "order": "free", **said}

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode of ``task``."""
        meeting = _Meeting(Episode(benchmark, task), stage)
        while not meeting.episode.done:
            proposal, objection = "", ""
            for _ in range(ROUNDS):
                heard = [("reviewer", objection)] if objection else []
                proposal = meeting.speak("writer", heard)
                objection = meeting.speak("reviewer", [("writer", proposal)])
                if "AGREED" in objection:
                    break
            meeting.episode.act("writer", proposal)
        return meeting.episode.played(meeting.contexts)


class _Meeting:
    """One episode: what each role has seen before its first word, and its memories."""

    def __init__(self, episode: Episode, stage: Stage) -> None:
        self.episode, self._stage = episode, stage
        self.contexts: dict[str, str] = {}
        self._blocks: dict[str, str] = {}
        self._calls = dict.fromkeys(TOLD, 0)

    def speak(self, role: str, heard: list[tuple[str, str]]) -> str:
        """What ``role`` says to what it hears."""
        if role not in self._blocks:
            context = pre_action_context(self.episode.task.text, self.episode.initial, heard)
            self.contexts[role] = context
            self._blocks[role] = self._stage.supply(role, context)
        self._calls[role] += 1
        prompt = user_message(self.episode, heard, block=self._blocks[role])
        messages = (Message("system", TOLD[role]), Message("user", prompt))
        turn = Turn(role=role, number=self._calls[role], messages=messages)
        (spoken,) = self._stage.ask([turn])
        self.episode.message(role, spoken)
        return spoken.text
