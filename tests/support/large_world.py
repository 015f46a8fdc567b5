"""The world of a generated log: tasks, episodes, words and cosines, all drawn with dice.

Everything is a function of what is asked, never of the order of asking. Most replies share a
prompt blob, since a log of a million distinct prompts would be another size than the one wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from large_plan import Plan
from lively import GARBAGE, Dice, Lively

from discernmem.eventlog import canonical, digest
from discernmem.eventlog import events as ev
from discernmem.projections.history import TaskRecord
from discernmem.projections.store import Memory
from discernmem.replayers.benchmarks.base import Outcome, Task, View
from discernmem.replayers.gateway import INLINE_BYTES, Answered, Gateway, Question
from discernmem.replayers.journal import Journal, Observation
from discernmem.replayers.models.base import ModelCall
from discernmem.replayers.run import Run

TOPICS = ("crates", "lamps", "valves", "ledgers", "ferries", "looms", "kilns", "sluices", "bells")
DOMAINS = ("store", "harbour", "mill")


# -- the stream --------------------------------------------------------------------------------


@attrs.frozen
class Stream:
    """A benchmark of episodes that the dice score by the rules their team has read."""

    plan: Plan
    name: str = "pddl"
    protocol: str = "pddl"
    searcher: None = None
    passages: int = 0

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"name": self.name, "tasks": self.plan.scale.tasks, "seed": self.plan.dice.seed}

    def tasks(self) -> tuple[Task, ...]:
        return tuple(self._task(index) for index in range(1, self.plan.scale.tasks + 1))

    def _task(self, index: int) -> Task:
        name = f"q{index:05d}"
        first, second = (
            TOPICS[self.plan.dice.number(len(TOPICS), "topic", name, part)] for part in "ab"
        )
        text = (
            f"Task {index}. Bring the {first} from place {index % 17} to place {index % 23}, in "
            f"the order of their marks, and leave the {second} where they are. A place holds two "
            "things at most, and nothing may be put down on the way."
        )
        return Task(id=name, domain=DOMAINS[index % len(DOMAINS)], text=text, data={})

    def environment(self, task: Task) -> Episode:
        self.plan.rules = ()
        present = task.id == f"q{self.plan.index:05d}"
        return Episode(self.plan, task, self.plan.passes if present else 1)


@attrs.define
class Episode:
    """One episode: as many steps as planned, then a score."""

    plan: Plan
    task: Task
    passes: int
    steps: int = 0

    def view(self) -> View:
        return View()

    def step(self, action: str) -> str:
        self.steps += 1
        return f"Step {self.steps} of {self.passes}: done, {len(action)} marks to go."

    @property
    def done(self) -> bool:
        return self.steps >= self.passes

    def outcome(self) -> Outcome:
        dice = self.plan.dice
        base = (1 + dice.number(3, "base", self.task.id)) / 4
        score = base + sum(effect(dice, rule, self.task.id) for rule in self.plan.rules)
        return Outcome(
            score=min(max(score, 0.0), 1.0), metrics={"steps": float(self.steps), "base": base}
        )


def effect(dice: Dice, rule: str, task: str) -> float:
    """What a rule does to the score of a task: some rules mostly help, some mostly harm."""
    kind, luck = dice.roll("kind", rule), dice.roll("effect", rule, task)
    helps, harms = (0.5, 0.02) if kind < 0.35 else (0.1, 0.05) if kind < 0.75 else (0.05, 0.5)
    return 0.25 if luck < helps else -0.25 if luck < helps + harms else 0.0


# -- the words ---------------------------------------------------------------------------------


@attrs.frozen
class Words(Lively):
    """What the model says: as lively as elsewhere, but only as often as the plan allows."""

    plan: Plan

    def turn(self, role: str, prompt: str) -> str:
        """A team member's turn; before its first words nobody has read any rule."""
        if "<notes>" in prompt:
            rules = re.findall(r'^- rule: "(.*)"$', prompt, re.MULTILINE)
            self.plan.rules = tuple(dict.fromkeys((*self.plan.rules, *rules)))
        task, number = prompt[: prompt.index(".")], prompt.count("\n> ") + 1
        first = number == 1 and role == "assistant"
        course = "" if first else self._course(task)
        draw = self.dice.number(10_000, "turn", task, course, role, str(number))
        if role != "assistant":
            return f"take {TOPICS[draw % 9]} {draw} to place {number}"
        said = f"I would take {TOPICS[draw % 9]} {draw} next: it is in the way of all others."
        if draw % 60 == 0 and not self.plan.last:
            said += " If it is not, then the one behind it is." * (INLINE_BYTES // 40)
        return said

    def _course(self, task: str) -> str:
        """What tells one episode on a task from another; a rule may leave no trace."""
        traces = (r for r in self.plan.rules if self.dice.roll("trace", r, task) < 0.8)
        return "\n".join(traces)

    def extraction(self, prompt: str) -> Any:
        number = self.dice.number(1_000_000, "rule", prompt)
        topic = TOPICS[number % len(TOPICS)]
        stored = self.plan.propose(self.dice.roll("store", prompt) < 0.8)
        return {
            "reason": "drawn",
            "store": stored,
            "rule": f"Look at mark {number} of the {topic} before moving any" if stored else "",
            "use_when": [f"the {topic} stand in a row", "a place is full"] if stored else [],
            "avoid_when": ["nothing is marked"] if stored and number % 5 == 0 else [],
        }

    def identity(self, prompt: str) -> Any:
        known = self.dice.roll("known", prompt) < 0.25 and not self.plan.quiet
        return super().identity(prompt) if known else {"reason": "drawn", "match": "none"}

    def scope(self, prompt: str) -> Any:
        number = self.dice.number(1000, "boundary", prompt)
        return {
            "reason": "drawn",
            "use": self.dice.roll("use", prompt) < 0.8,
            "avoid": self.dice.roll("avoid", prompt) < 0.05,
            "boundary": f"there are {number} marks" if number % 8 else "",
        }

    def diagnosis(self, prompt: str) -> Any:
        if self.dice.roll("seen", prompt) < 0.5:
            return {"reason": "drawn", "defect": "none", "description": "", "cited": []}
        return super().diagnosis(prompt)


class Speaker(Gateway):
    """A gateway with its own words, which keeps a prompt only when another blob is due.

    A reply's request is the digest of its whole prompt, as in any run; what it names as its
    messages is the system prompt and, mostly, the text of the present task.
    """

    def __init__(self, journal: Journal, plan: Plan) -> None:
        super().__init__(journal, "dice", None)
        self._plan = plan
        self._words = Words(plan.dice, plan)
        self._systems: dict[str, ev.BlobRef] = {}

    def complete_all(self, questions: Sequence[Question], *, cause: str) -> list[Answered]:
        return [self._answered(question, cause) for question in questions]

    def _answered(self, question: Question, cause: str) -> Answered:
        call, purpose, role = question.call, question.purpose, question.role
        request = self._request(call)
        recorded = self._journal.observe(
            request,
            lambda: self._ask(request, call, purpose, role),
            cause=cause,
            what=purpose,
            repeats=purpose == "role",
        )
        return Answered(self.text_of(self._journal.log, recorded), recorded.event_id)

    def _ask(self, request: str, call: ModelCall, purpose: str, role: str | None) -> Observation:
        system, user = call.messages[0].content, call.messages[1].content
        said = self._say(call, purpose, role)
        brought: list[bytes] = []

        def keep(text: str) -> ev.BlobRef:
            content = text.encode()
            ref = ev.BlobRef(digest(content))
            if ref not in self._plan.log.known and content not in brought:
                brought.append(content)
            return ref

        if system not in self._systems:
            self._systems[system] = keep(system)
        fresh = purpose == "role" and self._plan.fresh()
        long = len(said) > INLINE_BYTES
        schema = canonical({"title": purpose, "type": "object"}).decode()
        event = ev.ModelReplied(
            request=request,
            purpose=purpose,
            role=role,
            messages=(
                ev.MessageRef(role="system", content=self._systems[system]),
                ev.MessageRef(role="user", content=keep(user) if fresh else self._plan.text),
            ),
            temperature=call.temperature,
            top_p=call.top_p,
            max_tokens=call.max_tokens,
            seed=call.seed,
            schema=keep(schema) if call.schema is not None else None,
            text=None if long else said,
            text_blob=keep(said) if long else None,
            finish="stop",
            prompt_tokens=len(user) // 4,
            completion_tokens=len(said) // 4,
        )
        return Observation(event, tuple(brought))

    def _say(self, call: ModelCall, purpose: str, role: str | None) -> str:
        prompt = "\n\n".join(message.content for message in call.messages[1:])
        if purpose == "role":
            assert role is not None
            return self._words.turn(role, prompt)
        if len(call.messages) == 2 and self._confused(purpose, role, prompt):
            return GARBAGE
        said = getattr(self._words, BEHAVIOURS[purpose])(prompt)
        return json.dumps(said)

    def _confused(self, purpose: str, role: str | None, prompt: str) -> bool:
        """Whether the first answer is unusable; in the last task, when its events are odd."""
        plan = self._plan
        if plan.quiet:
            return plan.last and plan.odd and role == "assistant"
        return plan.dice.roll("garbage", purpose, prompt) < 0.02


BEHAVIOURS = {
    "extraction": "extraction",
    "identity": "identity",
    "selection": "selection",
    "scope check": "scope",
    "content diagnosis": "diagnosis",
    "generalisation": "generalisation",
    "repair": "repair",
}


# -- nearness ----------------------------------------------------------------------------------


@attrs.define(kw_only=True)
class DrawnRun(Run):
    """A run whose cosines are drawn: old memories are mostly nearer, so that few have most uses."""

    plan: Plan

    def similar_memories(
        self,
        query: str,
        k: int,
        memories: Sequence[Memory],
        cause: str,
        *,
        bodies_alone: bool = False,
    ) -> dict[str, float]:
        assert not bodies_alone
        self._embed(query, cause)
        which = self._draw(query, k, len(memories), skew=3)
        return {memories[at].id: self._cosine(memories[at].id, query) for at in which}

    def similar_tasks(
        self, query: str, k: int, tasks: Sequence[TaskRecord], cause: str
    ) -> dict[str, float]:
        self._embed(query, cause)
        which = self._draw(query, k, len(tasks), skew=1)
        return {tasks[at].id: self._cosine(tasks[at].id, query) for at in which}

    def _draw(self, query: str, k: int, among: int, *, skew: int) -> list[int]:
        """``k`` different places, or all there are; the skew makes low ones likelier."""
        drawn: list[int] = []
        for number in map(str, range(min(k, among))):
            at = int(among * self.plan.dice.roll("place", number, query) ** skew)
            while at in drawn:
                at = (at + 1) % among
            drawn.append(at)
        return drawn

    def _cosine(self, of: str, query: str) -> float:
        """Below the threshold of retrieval when no memory should be supplied."""
        high = 0.2 if self.plan.quiet else 0.95
        return round(high * self.plan.dice.roll("cosine", of, query), 6)

    def _embed(self, query: str, cause: str) -> None:
        if not self.plan.quiet and self.plan.dice.roll("embed", query) < 0.2:
            self.embeddings.vector(query, cause=cause)
