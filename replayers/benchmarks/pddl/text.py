"""What a team reads of a planning problem: facts, actions and domains in sentences."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence

import attrs

from .strips import Action, Domain, Fact, Move, Problem, fill

CHECK = "check valid actions"


@attrs.frozen(kw_only=True)
class Words:
    """The sentences of one domain, from ``data/pddl/words.toml``.

    ``full`` says whether every step shows the whole state or only what became true.
    """

    full: bool
    intro: str
    example: str
    facts: Mapping[str, str]
    actions: Mapping[str, str]

    def fact(self, fact: Fact) -> str:
        """A fact as a clause, without a full stop."""
        return self.facts[fact[0]].format(*fact[1:])

    def sentences(self, facts: Iterable[Fact]) -> str:
        """Facts as sentences in sorted order, on one line."""
        return " ".join(f"{clause}." for clause in sorted(map(self.fact, facts)))

    def move(self, name: str, arguments: Sequence[str]) -> str:
        """The sentence form of an action."""
        return self.actions[name].format(*arguments)


def read_words(text: str) -> dict[str, Words]:
    """The sentences of every domain in a words file."""
    return {domain: Words(**entry) for domain, entry in tomllib.loads(text).items()}


def describe(domain: Domain, words: Words, problem: Problem, steps: int, example: bool) -> str:
    """The task text: rules, actions with the order of their arguments, goal, perhaps an example."""
    parts = [
        words.intro.strip(),
        "Actions, one per step. Both forms are understood, and no argument may be named twice:",
        "\n".join(_usage(action, words) for action in domain.actions.values()),
        f'"{CHECK}" lists the actions that are possible now; it takes a step like any other.',
    ]
    if example:
        parts.append(f"Example. {words.example.strip()}")
    parts.append(f"Goal, within {steps} steps: {words.sentences(problem.goals)}")
    return "\n\n".join(parts)


def valid_actions(moves: Iterable[Move]) -> str:
    """One line that lists moves in their short forms."""
    return f"Valid actions: {'; '.join(move.text for move in moves)}."


def _usage(action: Action, words: Words) -> str:
    slots = tuple(f"<{name}>" for name in action.parameters)
    needs = sorted(words.fact(fill(pattern, slots)) for pattern in action.needs)
    sentence = words.move(action.name, slots)
    return f"- {' '.join((action.name, *slots))}, or: {sentence}. Needs: {', '.join(needs)}."
