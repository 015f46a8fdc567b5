"""One repair from its trigger to its end: rounds, candidates, the past tasks that judged (§3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from .facts import Fact, Facts, fact
from .uses import Use, use_of
from .words import Piece, word_diff

Purpose = Literal["trigger", "retention", "related", "calibration"]


@attrs.frozen(kw_only=True)
class Judge:
    """A past task that judges candidates, and how it went with the rule as it was and with none."""

    task: str
    purpose: Purpose
    parent: Fact[ev.ExecutionFinished]
    none: Fact[ev.ExecutionFinished]


@attrs.frozen(kw_only=True)
class Trial:
    """What a candidate scored on a past task, and in which execution."""

    comparison: ev.Comparison
    execution: Fact[ev.ExecutionFinished]


@attrs.frozen(kw_only=True)
class Candidate:
    """An edit, the rule it makes, and what the gate said of it.

    Attributes:
        parent: the rule that was to be repaired.
        proposed: the edit; its ``problem`` says why it could not be made, if so.
        judged: the verdict, None if it was not tried.
        trials: its scores on every judge, in their order.
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

    ``trigger`` is the use that did harm; ``judges`` are its task and then the others on which
    candidates are tried. ``ended`` is None while the repair is open.
    """

    started: Fact[ev.RepairStarted]
    trigger: Use
    judges: tuple[Judge, ...]
    rounds: tuple[Round, ...]
    ended: Fact[ev.RepairEnded] | None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates of all rounds, in order."""
        return tuple(candidate for each in self.rounds for candidate in each.candidates)


def course(facts: Facts, started: Recorded) -> Sequence[Recorded]:
    """The events of the repair that a `RepairStarted` begins, it among them, in order."""
    assert isinstance(started.event, ev.RepairStarted)
    return facts.of_repair(started.event.repair)


def trigger_of(facts: Facts, started: Recorded) -> Recorded:
    """The `EffectMeasured` of the use that a repair is for."""
    measured = facts.above(started, ev.EffectMeasured)
    assert measured is not None
    return measured


def repair_of(facts: Facts, started: Recorded, parent: str) -> Repair:
    """The repair that a `RepairStarted` of the stream begins; its evidence was learned.

    ``parent`` is the rule it is about.
    """
    events = course(facts, started)
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
                    trials=tuple(_trials(facts, verdict)) if verdict else (),
                    committed=place in committed,
                )

    ended = next((fact(r, ev.RepairEnded) for r in events if r.type == "RepairEnded"), None)
    return Repair(
        started=fact(started, ev.RepairStarted),
        trigger=use_of(facts, trigger_of(facts, started)),
        judges=tuple(_judges(facts, started)),
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


def _judges(facts: Facts, started: Recorded) -> Iterator[Judge]:
    event = fact(started, ev.RepairStarted).event
    past = [fact(each, ev.ExecutionFinished) for each in facts.evidence(started)]
    parent = {each.event.task: each for each in past if each.event.supplied}
    none = {each.event.task: each for each in past if not each.event.supplied}
    first: Purpose = "trigger" if event.kind == "reuse" else "calibration"
    drawn: tuple[tuple[Purpose, tuple[str, ...]], ...] = (
        (first, (event.trigger,)),
        ("retention", event.retention),
        ("related", event.related),
        ("calibration", tuple(task for task in event.calibration if task != event.trigger)),
    )
    for purpose, tasks in drawn:
        for task in tasks:
            yield Judge(task=task, purpose=purpose, parent=parent[task], none=none[task])


def _trials(facts: Facts, judged: Recorded) -> Iterator[Trial]:
    """The comparisons of a verdict, each with the execution of the candidate."""
    tried = [fact(each, ev.ExecutionFinished) for each in facts.evidence(judged)]
    executions = {each.event.task: each for each in tried}
    for comparison in fact(judged, ev.CandidateJudged).event.comparisons:
        yield Trial(comparison=comparison, execution=executions[comparison.task])
