"""From a team's reply to a move, or to a refusal that names the reason; nothing is guessed.

An action is read in its short form (``pick ball1 rooma left``), in the domain's sentence form
(``pick up ball1 at rooma with left``), or as the value of a JSON object whose only key is
``action``. Case, runs of white space and one full stop at the end do not matter; anything else
does.
"""

from __future__ import annotations

import json
import re

import attrs

from .strips import Action, Domain, Game, Move, Problem, fill
from .text import CHECK, Words

SHOWN = 60
"""How many characters of a reply a refusal quotes."""


@attrs.frozen
class Refusal:
    """Why a reply is no move now: a clause on one line, without a full stop."""

    reason: str


@attrs.frozen
class Check:
    """The request to list the valid actions."""


class ActionReader:
    """Reads the actions of one grounded problem."""

    def __init__(self, domain: Domain, problem: Problem, words: Words, game: Game) -> None:
        self._domain = domain
        self._problem = problem
        self._words = words
        self._game = game
        self._moves = {move.text: move for move in game.moves}
        self._sentences = {name: _pattern(form) for name, form in words.actions.items()}

    def read(self, reply: str, state: int) -> Move | Check | Refusal:
        """The applicable move a reply names, the check, or the reason for a refusal."""
        text = _plain(reply)
        if isinstance(text, Refusal):
            return text
        if text == CHECK:
            return Check()
        named = self._named(text)
        if isinstance(named, Refusal):
            return named
        action, arguments = named
        wrong = self._misfit(action, arguments)
        if wrong is not None:
            return Refusal(wrong)
        move = self._moves.get(" ".join((action.name, *arguments)))
        if move is not None and move.needs & state == move.needs:
            return move
        held = set(self._game.holding(state))
        unmet = {fill(pattern, arguments) for pattern in action.needs} - held
        clauses = ", ".join(sorted(map(self._words.fact, unmet)))
        return Refusal(f"{action.name} {' '.join(arguments)} is not possible now, needs: {clauses}")

    def _named(self, text: str) -> tuple[Action, tuple[str, ...]] | Refusal:
        for name, pattern in self._sentences.items():
            found = pattern.fullmatch(text)
            if found is not None:
                return self._domain.actions[name], _by_position(found)
        name, *arguments = text.split() or [""]
        if name not in self._domain.actions:
            return Refusal(f"{_quoted(text)} is not an action of this task")
        return self._domain.actions[name], tuple(arguments)

    def _misfit(self, action: Action, arguments: tuple[str, ...]) -> str | None:
        if len(arguments) != len(action.types):
            wanted = " ".join(f"<{name}>" for name in action.parameters)
            return f"{action.name} takes {wanted}, not {len(arguments)} arguments"
        for argument, wanted in zip(arguments, action.types, strict=True):
            kind = self._problem.objects.get(argument)
            if kind is None:
                return f"there is no object {_quoted(argument)}"
            if not self._domain.is_a(kind, wanted):
                return f"{argument} is not a {wanted}"
        if len(set(arguments)) < len(arguments):
            return f"{action.name} names an argument twice"
        return None


def _plain(reply: str) -> str | Refusal:
    text = reply.strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return Refusal("the reply opens like JSON but is not a JSON object")
        if set(value) != {"action"} or not isinstance(value["action"], str):
            return Refusal('a JSON reply must be {"action": "..."}')
        text = value["action"]
    text = " ".join(text.lower().split())
    return text.removesuffix(".").rstrip()


def _pattern(form: str) -> re.Pattern[str]:
    """A sentence form as an expression whose groups ``p0``, ``p1`` ... are its arguments."""
    pieces = re.split(r"\{(\d+)\}", form)
    slots = (
        f"(?P<p{piece}>\\S+)" if place % 2 else re.escape(piece)
        for place, piece in enumerate(pieces)
    )
    return re.compile("".join(slots))


def _by_position(found: re.Match[str]) -> tuple[str, ...]:
    return tuple(found[f"p{place}"] for place in range(len(found.groups())))


def _quoted(text: str) -> str:
    """A reply's start in ASCII: what a model writes may not even be encodable."""
    return ascii(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
