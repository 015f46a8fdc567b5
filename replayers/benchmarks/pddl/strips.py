"""Planning problems in plain STRIPS, and the small grounded core that plays them.

A fact is a tuple ``(predicate, object, ...)``. Grounding numbers the facts that can matter and
turns a state into one integer with a bit for each fact that holds, so that listing the applicable
moves is one mask test a move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

Fact = tuple[str, ...]
"""A predicate and its objects."""

Pattern = tuple[str | int, ...]
"""A fact in an action: a predicate, then constants (names) and parameters (their positions)."""

ROOT_TYPE = "object"


@attrs.frozen(kw_only=True)
class Action:
    """An action schema; parameter names are for display, so equality ignores them.

    ``types`` holds the type of each parameter. An action applies when all of ``needs`` hold; then
    ``removes`` cease to hold and ``adds`` hold.
    """

    name: str
    parameters: tuple[str, ...] = attrs.field(eq=False)
    types: tuple[str, ...]
    needs: frozenset[Pattern]
    adds: frozenset[Pattern]
    removes: frozenset[Pattern]


@attrs.frozen(kw_only=True)
class Domain:
    """Types (each with its parent), constants with their types, and actions in name order."""

    types: Mapping[str, str]
    constants: Mapping[str, str]
    predicates: Mapping[str, int]
    actions: Mapping[str, Action]

    def is_a(self, kind: str, wanted: str) -> bool:
        """Whether the type ``kind`` is ``wanted`` or lies below it."""
        while kind != wanted:
            if kind == ROOT_TYPE:
                return False
            kind = self.types[kind]
        return True


@attrs.frozen(kw_only=True)
class Problem:
    """Objects with their types (the domain's constants included), initial facts and goals."""

    objects: Mapping[str, str]
    init: frozenset[Fact]
    goals: frozenset[Fact]


@attrs.frozen
class Move:
    """An action with its arguments: ``text`` is its short form, the masks are over fact bits."""

    text: str
    name: str
    arguments: tuple[str, ...]
    needs: int
    adds: int
    removes: int

    def after(self, state: int) -> int:
        """The state this move leads to from a state in which it applies."""
        return state & ~self.removes | self.adds


@attrs.frozen(eq=False)
class Game:
    """A grounded problem: states are bit masks over ``facts``, moves are in text order."""

    facts: tuple[Fact, ...]
    moves: tuple[Move, ...]
    initial: int
    goals: Mapping[Fact, int]
    _masks: tuple[tuple[int, Move], ...]

    def applicable(self, state: int) -> list[Move]:
        """The moves that apply in this state, in text order."""
        return [move for needs, move in self._masks if needs & state == needs]

    def holding(self, state: int) -> list[Fact]:
        """The facts that hold in this state, sorted."""
        return sorted(fact for bit, fact in enumerate(self.facts) if state >> bit & 1)

    def satisfied(self, state: int) -> int:
        """How many goals hold in this state."""
        return sum(1 for mask in self.goals.values() if mask & state)


def fill(pattern: Pattern, arguments: tuple[str, ...]) -> Fact:
    """The fact a pattern stands for under these arguments."""
    return tuple(arguments[term] if isinstance(term, int) else term for term in pattern)


def ground(domain: Domain, problem: Problem) -> Game:
    """Instantiate every move that can ever apply, with pairwise distinct arguments.

    A fact no action changes (a room is a room) decides here whether an instance exists at all.
    """
    changing = {
        pattern[0] for action in domain.actions.values() for pattern in action.adds | action.removes
    }
    bits: dict[Fact, int] = {}

    def mask(facts: Iterable[Fact]) -> int:
        return sum(1 << bits.setdefault(fact, len(bits)) for fact in sorted(set(facts)))

    initial = mask(problem.init)
    goals = {goal: mask([goal]) for goal in sorted(problem.goals)}
    moves = []
    for action in domain.actions.values():
        fixed = [pattern for pattern in action.needs if pattern[0] not in changing]
        for arguments in _bindings(domain, problem, action, fixed):
            moves.append(
                Move(
                    " ".join((action.name, *arguments)),
                    action.name,
                    arguments,
                    mask(fill(pattern, arguments) for pattern in action.needs),
                    mask(fill(pattern, arguments) for pattern in action.adds),
                    mask(fill(pattern, arguments) for pattern in action.removes),
                )
            )
    moves.sort(key=lambda move: move.text)
    masks = tuple((move.needs, move) for move in moves)
    return Game(tuple(bits), tuple(moves), initial, goals, masks)


def _bindings(
    domain: Domain, problem: Problem, action: Action, fixed: list[Pattern]
) -> Iterator[tuple[str, ...]]:
    """Distinct, well-typed arguments under which every fact of ``fixed`` holds initially."""
    candidates = [
        [name for name, kind in problem.objects.items() if domain.is_a(kind, wanted)]
        for wanted in action.types
    ]
    # A fixed fact is tested as soon as its last parameter is bound: full products of untyped
    # domains grow with the cube of the objects.
    tests: list[list[Pattern]] = [[] for _ in range(len(action.types) + 1)]
    for pattern in fixed:
        tests[max((t + 1 for t in pattern if isinstance(t, int)), default=0)].append(pattern)

    def extend(bound: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if any(fill(pattern, bound) not in problem.init for pattern in tests[len(bound)]):
            return
        if len(bound) == len(candidates):
            yield bound
            return
        for name in candidates[len(bound)]:
            if name not in bound:
                yield from extend((*bound, name))

    return extend(())
