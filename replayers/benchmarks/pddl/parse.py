"""Read PDDL files into `strips`, with the ``pddl`` library and one documented normalisation.

The library reads three of AgentBoard's four domains as they are and all sixty problems, in
milliseconds once its grammar is built, so an own reader would only repeat it. It refuses
tyreworld, whose constants follow the predicates and which declares no requirements; `normalised`
puts the sections of a domain in the order the library's grammar wants and declares the
requirements of plain STRIPS with types where none are. The types a domain declares for its
predicates are not used: tyreworld declares those of ``in`` the wrong way round.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pddl.logic.base import And, Not  # type: ignore[import-untyped]
from pddl.logic.predicates import Predicate  # type: ignore[import-untyped]
from pddl.parser.domain import DomainParser  # type: ignore[import-untyped]
from pddl.parser.problem import ProblemParser  # type: ignore[import-untyped]

from ....eventlog.errors import BadInput
from .strips import ROOT_TYPE, Action, Domain, Fact, Pattern, Problem

SECTIONS = ("(domain", "(:requirements", "(:types", "(:constants", "(:predicates", "(:action")
REQUIREMENTS = "(:requirements :strips :typing)"


def read_domain(text: str, source: str) -> Domain:
    """The domain in ``text``; ``source`` names it in errors.

    Raises:
        BadInput: it is not a STRIPS domain.
    """
    parsed = _parsed(_domain_parser, normalised(text), source)
    types = {str(kind): str(parent or ROOT_TYPE) for kind, parent in parsed.types.items()}
    types.pop(ROOT_TYPE, None)
    constants = {str(term.name): _kind(term, source) for term in parsed.constants}
    actions = (_action(action, source) for action in parsed.actions)
    return Domain(
        types=types,
        constants=dict(sorted(constants.items())),
        predicates={str(predicate.name): predicate.arity for predicate in parsed.predicates},
        actions={action.name: action for action in sorted(actions, key=lambda a: a.name)},
    )


def read_problem(text: str, domain: Domain, source: str) -> Problem:
    """The problem of ``domain`` in ``text``; ``source`` names it in errors.

    Raises:
        BadInput: it is not a STRIPS problem, or does not fit the domain.
    """
    parsed = _parsed(_problem_parser, text.lower(), source)
    # Tools are constants of tyreworld and objects of its problems: one thing, said twice.
    objects = dict(domain.constants)
    objects |= {str(term.name): _kind(term, source) for term in parsed.objects}
    init = _facts(parsed.init, source)
    goals = _facts(_conjuncts(parsed.goal), source)
    problem = Problem(objects=dict(sorted(objects.items())), init=init, goals=goals)
    _check(problem, domain, source)
    return problem


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        BadInput: it cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BadInput(f"{path}: cannot be read ({reason}); name a folder of PDDL files") from None


def normalised(text: str) -> str:
    """A domain's text in lower case, without comments, its sections in the library's order."""
    lines = (line.partition(";")[0] for line in text.lower().splitlines())
    head, sections, tail = _sections("\n".join(lines))
    if not any(section.startswith(SECTIONS[1]) for section in sections):
        sections.append(REQUIREMENTS)
    ranks = {name: rank for rank, name in enumerate(SECTIONS)}
    sections.sort(key=lambda section: ranks.get(section.split()[0], len(ranks)))
    return "\n".join((head, *sections, tail))


def _sections(text: str) -> tuple[str, list[str], str]:
    """What opens a ``(define ...)`` form, the forms directly inside it, and the rest."""
    head, tail = "", ""
    sections: list[str] = []
    depth = 0
    for char in text:
        depth += char == "("
        if char == "(" and depth == 2:
            sections.append("")
        if depth >= 2:
            sections[-1] += char
        elif sections:
            tail += char
        else:
            head += char
        depth -= char == ")"
    return head, sections, tail


@cache
def _domain_parser() -> Any:
    return DomainParser()


@cache
def _problem_parser() -> Any:
    return ProblemParser()


def _parsed(parser: Any, text: str, source: str) -> Any:
    limit = getattr(sys, "tracebacklimit", None)
    try:
        return parser()(text)
    except Exception as error:  # the library lets errors of many unrelated kinds through
        # ... and its parsers keep a broken state after one.
        parser.cache_clear()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise BadInput(f"{source}: not readable as PDDL ({reason}); correct the file") from None
    finally:
        # The library cuts every traceback while it reads, and after an error for good.
        sys.tracebacklimit = limit


def _unsupported(source: str, what: object) -> BadInput:
    return BadInput(f"{source}: {what} is beyond plain STRIPS with types; rewrite it")


def _kind(term: object, source: str) -> str:
    tags = sorted(str(tag) for tag in getattr(term, "type_tags", ()))
    if len(tags) > 1:
        raise _unsupported(source, f"type (either {' '.join(tags)})")
    return tags[0] if tags else ROOT_TYPE


def _conjuncts(formula: object) -> Iterable[object]:
    return formula.operands if isinstance(formula, And) else (formula,)


def _facts(formulas: Iterable[object], source: str) -> frozenset[Fact]:
    found = set()
    for formula in formulas:
        if not isinstance(formula, Predicate):
            raise _unsupported(source, formula)
        found.add((str(formula.name), *(str(term.name) for term in formula.terms)))
    return frozenset(found)


def _action(action: Any, source: str) -> Action:
    variables = action.parameters
    places = {variable: place for place, variable in enumerate(variables)}

    def pattern(formula: object) -> Pattern:
        if not isinstance(formula, Predicate):
            raise _unsupported(source, formula)
        return (str(formula.name), *(places.get(term, str(term.name)) for term in formula.terms))

    adds, removes = set(), set()
    for effect in _conjuncts(action.effect):
        if isinstance(effect, Not):
            removes.add(pattern(effect.argument))
        else:
            adds.add(pattern(effect))
    return Action(
        name=str(action.name),
        parameters=tuple(str(variable.name) for variable in variables),
        types=tuple(_kind(variable, source) for variable in variables),
        needs=frozenset(map(pattern, _conjuncts(action.precondition))),
        adds=frozenset(adds),
        removes=frozenset(removes),
    )


def _check(problem: Problem, domain: Domain, source: str) -> None:
    """Refuse facts over what was never declared: they would make a goal silently unreachable."""
    known: Mapping[str, int] = domain.predicates
    for kind in problem.objects.values():
        if kind != ROOT_TYPE and kind not in domain.types:
            raise BadInput(f"{source}: type {kind} is not in the domain; correct the file")
    for name, *terms in sorted(problem.init | problem.goals):
        if known.get(name) != len(terms):
            raise BadInput(
                f"{source}: ({' '.join((name, *terms))}) is not a fact of the domain; "
                "correct its name or its number of objects"
            )
        for term in terms:
            if term not in problem.objects:
                raise BadInput(f"{source}: object {term} is not declared; add it to :objects")
    if not problem.goals:
        raise BadInput(f"{source}: it has no goal; add one")
