"""One repair from its trigger to its end: rounds, candidates, the past tasks that judged (§3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from .facts import Fact, Facts, fact
from .uses import Use, use_of
from .words import Piece, word_diff

_PARTS = (ev.RepairProposed, ev.CandidateProposed, ev.CandidateJudged, ev.MemoryRevised,
          ev.RepairEnded)  # fmt: skip


@attrs.frozen(kw_only=True)
class Trial:
    """A past task on which a candidate was tried, with the executions its three scores are of."""

    comparison: ev.Comparison
    candidate: Fact[ev.ExecutionFinished]
    parent: Fact[ev.ExecutionFinished]
    none: Fact[ev.ExecutionFinished]


@attrs.frozen(kw_only=True)
class Candidate:
    """An edit, the rule it makes, and what the gate said of it.

    Attributes:
        parent: the rule that was to be repaired.
        proposed: the edit; its ``problem`` says why it could not be made, if so.
        judged: the verdict, None if it was not tried.
        trials: its scores, the trigger first.
        committed: whether it became the next version.
    """

    parent: str
    proposed: Fact[ev.CandidateProposed]
    judged: Fact[ev.CandidateJudged] | None
    trials: tuple[Trial, ...]
    committed: bool

    @property
    def diff(self) -> tuple[Piece, ...]:
        """What it changes of its parent, word by word; empty if the edit could not be made."""
        made = self.proposed.event
        return () if made.problem else word_diff(self.parent, made.body)


@attrs.frozen(kw_only=True)
class Round:
    """What the model proposed in one round of a repair."""

    proposed: Fact[ev.RepairProposed]
    candidates: tuple[Candidate, ...]


@attrs.frozen(kw_only=True)
class Repair:
    """A repair of one version of a memory.

    ``trigger`` is the use that did harm. The related tasks and those of retention or calibration
    are named by ``started``; ``ended`` is None while the repair is open.
    """

    started: Fact[ev.RepairStarted]
    trigger: Use
    rounds: tuple[Round, ...]
    ended: Fact[ev.RepairEnded] | None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates of all rounds, in order."""
        return tuple(candidate for each in self.rounds for candidate in each.candidates)


def course(facts: Facts, started: Recorded) -> Iterator[Recorded]:
    """The events of the repair that a `RepairStarted` begins, it among them, in order."""
    assert isinstance(started.event, ev.RepairStarted)
    name = started.event.repair
    yield started
    for each in facts.own:
        if isinstance(each.event, _PARTS) and each.event.repair == name:
            yield each


def trigger_of(facts: Facts, started: Recorded) -> Recorded:
    """The `EffectMeasured` of the use that a repair is for."""
    measured = facts.above(started, ev.EffectMeasured)
    assert measured is not None
    return measured


def repair_of(facts: Facts, started: Recorded, parent: str) -> Repair:
    """The repair that a `RepairStarted` of the stream begins; its evidence was learned.

    ``parent`` is the rule it is about.
    """
    events = [*course(facts, started)][1:]
    past = [fact(each, ev.ExecutionFinished) for each in facts.evidence(started)]
    revised = [r.event for r in events if isinstance(r.event, ev.MemoryRevised)]
    committed = {(each.round, each.number) for each in revised}
    judged = {
        (each.event.round, each.event.number): each
        for each in events
        if isinstance(each.event, ev.CandidateJudged)
    }

    def candidates(number: int) -> Iterator[Candidate]:
        for each in events:
            if isinstance(each.event, ev.CandidateProposed) and each.event.round == number:
                place = (each.event.round, each.event.number)
                verdict = judged.get(place)
                yield Candidate(
                    parent=parent,
                    proposed=fact(each, ev.CandidateProposed),
                    judged=fact(verdict, ev.CandidateJudged) if verdict else None,
                    trials=tuple(_trials(facts, verdict, past)) if verdict else (),
                    committed=place in committed,
                )

    ended = next((fact(r, ev.RepairEnded) for r in events if r.type == "RepairEnded"), None)
    return Repair(
        started=fact(started, ev.RepairStarted),
        trigger=use_of(facts, trigger_of(facts, started)),
        rounds=tuple(
            Round(
                proposed=fact(each, ev.RepairProposed),
                candidates=tuple(candidates(each.event.round)),
            )
            for each in events
            if isinstance(each.event, ev.RepairProposed)
        ),
        ended=ended,
    )


def _trials(
    facts: Facts, judged: Recorded, past: Iterable[Fact[ev.ExecutionFinished]]
) -> Iterator[Trial]:
    """The comparisons of a verdict with their executions; ``past`` are parent's and none's."""
    assert isinstance(judged.event, ev.CandidateJudged)
    tried = [fact(each, ev.ExecutionFinished) for each in facts.evidence(judged)]
    with_parent = {each.event.task: each for each in past if each.event.supplied}
    with_none = {each.event.task: each for each in past if not each.event.supplied}
    with_candidate = {each.event.task: each for each in tried}
    for comparison in judged.event.comparisons:
        yield Trial(
            comparison=comparison,
            candidate=with_candidate[comparison.task],
            parent=with_parent[comparison.task],
            none=with_none[comparison.task],
        )
