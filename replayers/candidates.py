"""The rounds of a repair: propose local edits, try them on past tasks, commit one (§3.2, A.2)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ..decisions import llm
from ..decisions.edits import Edit, check, levenshtein
from ..decisions.gate import Purpose, Ranked, Verdict, compare, judge_calibration, judge_reuse, rank
from ..decisions.retrieval import receivers
from ..eventlog import events as ev
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .executions import Execution
from .reuse import apply_lifecycle
from .run import Run
from .showing import shown


@attrs.frozen(kw_only=True)
class Trial:
    """A validation task with what the parent and no memory score on it."""

    task: TaskRecord
    purpose: Purpose
    parent: Execution
    none: Execution


@attrs.frozen(kw_only=True)
class Case:
    """What a repair is about: the parent, the harm, and the tasks that will judge (Eq. 8).

    ``roles`` were given the memory where it did harm, and are given each candidate. ``trials`` hold
    the trigger first. ``defect`` is what the diagnosis named; a calibration repair has none and
    only knows that the trigger went worse.
    """

    memory: Memory
    roles: tuple[str, ...]
    kind: ev.RepairKind
    trials: tuple[Trial, ...]
    skipped: tuple[str, ...] = ()
    defect: llm.Diagnosis
    cause: str

    @property
    def trigger(self) -> Trial:
        """The task whose negative effect started the repair."""
        return self.trials[0]

    def tasks(self, purpose: Purpose) -> tuple[str, ...]:
        """The ids of the validation tasks of one kind."""
        return tuple(trial.task.id for trial in self.trials if trial.purpose == purpose)


@attrs.frozen(kw_only=True)
class Candidate:
    """An edit that could be made; ``event_id`` is that of its proposal."""

    round: int
    number: int
    edit: Edit
    body: str
    event_id: str


@attrs.frozen(kw_only=True)
class Judged:
    """A candidate that was replayed, with the verdict on it and its rank."""

    candidate: Candidate
    ranked: Ranked
    comparisons: tuple[ev.Comparison, ...]
    event_id: str

    @property
    def verdict(self) -> Verdict:
        """What the gate said."""
        return self.ranked.verdict


@attrs.define
class Repair:
    """One repair in progress: what was tried so far and what came of it."""

    run: Run
    case: Case
    name: str = attrs.field(init=False)
    tried: list[str] = attrs.field(init=False)
    feedback: list[llm.Feedback] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        memory = self.case.memory
        self.name = f"{memory.id}.v{memory.version}@{self.case.trigger.task.id}"
        self.tried = [memory.body]

    def carry_out(self) -> None:
        """Up to R rounds; the first round with an acceptable candidate commits one."""
        cause = self._start()
        rounds = 0
        commit_one = (
            self._commit_best if self.run.settings.validates_repairs else self._commit_first
        )
        for rounds in range(1, self.run.settings.rounds + 1):
            facts = self._facts()
            edits, proposed = self._propose(rounds, facts, cause)
            if not edits:
                # The next round would be told the same and answer the same.
                break
            if commit_one(rounds, edits, facts.displayed_ids, proposed):
                return
        self._give_up(rounds, cause)

    def _start(self) -> str:
        case = self.case
        executions = [e for trial in case.trials for e in (trial.parent, trial.none)]
        return self.run.emit(
            ev.RepairStarted(
                memory=case.memory.id,
                version=case.memory.version,
                repair=self.name,
                kind=case.kind,
                trigger=case.trigger.task.id,
                retention=case.tasks("retention"),
                related=case.tasks("related"),
                calibration=case.tasks("calibration"),
                skipped=case.skipped,
                evidence=tuple(dict.fromkeys(e.event_id for e in executions)),
            ),
            case.cause,
        ).event_id

    def _facts(self) -> llm.RepairFacts:
        case, memory = self.case, self.case.memory
        return llm.RepairFacts(
            role=receivers(case.roles),
            body=memory.body,
            use_when=memory.use_texts,
            avoid_when=memory.avoid_texts,
            capabilities=memory.capabilities,
            defect=case.defect.defect,
            description=case.defect.description,
            cited=case.defect.cited,
            task_text=self.run.text_of(case.trigger.task),
            steps_with=shown(case.trigger.parent),
            steps_without=shown(case.trigger.none),
            source_steps=shown(self.run.source_execution(memory)),
            candidates=self.run.settings.candidates,
            feedback=tuple(self.feedback),
        )

    def _propose(
        self, number: int, facts: llm.RepairFacts, cause: str
    ) -> tuple[tuple[Edit, ...], str]:
        memory = self.case.memory
        answer = self.run.decider.decide(llm.REPAIR, facts, role=facts.role, cause=cause)
        proposed = self.run.emit(
            ev.RepairProposed(
                memory=memory.id,
                version=memory.version,
                repair=self.name,
                round=number,
                edits=len(answer.value),
                fallback=answer.fallback,
                replies=answer.replies,
                evidence=answer.evidence,
            ),
            cause,
        )
        return answer.value, proposed.event_id

    def _commit_best(
        self, round_: int, edits: Sequence[Edit], displayed: Sequence[str], cause: str
    ) -> bool:
        """Try the candidates, in calibration up to the first that passes; commit the best."""
        judged: list[Judged] = []
        for number, edit in enumerate(edits, start=1):
            candidate = self._make(round_, number, edit, displayed, cause)
            if candidate is None:
                continue
            judged.append(self._judge(candidate))
            if judged[-1].verdict.accepted and self.case.kind == "calibration":
                break
        chosen = self._choose(judged)
        if chosen is None:
            return False
        self._commit(chosen.candidate, self._earned(chosen), chosen.event_id)
        return True

    def _commit_first(
        self, round_: int, edits: Sequence[Edit], displayed: Sequence[str], cause: str
    ) -> bool:
        """Commit the first candidate that can be made, untried (App. C)."""
        for number, edit in enumerate(edits, start=1):
            candidate = self._make(round_, number, edit, displayed, cause)
            if candidate is not None:
                self._commit(candidate, None, candidate.event_id)
                return True
        return False

    def _make(
        self, round_: int, number: int, edit: Edit, displayed: Sequence[str], cause: str
    ) -> Candidate | None:
        """The candidate an edit makes, if it makes one."""
        memory = self.case.memory
        body, problem = check(memory.body, edit, self.tried, displayed)
        proposed = self.run.emit(
            ev.CandidateProposed(
                memory=memory.id,
                version=memory.version,
                repair=self.name,
                round=round_,
                number=number,
                operation=edit.operation,
                anchor=edit.anchor,
                edit=edit.text,
                cited=edit.cited,
                correction=edit.correction,
                body=body,
                problem=problem,
            ),
            cause,
        )
        candidate = Candidate(
            round=round_, number=number, edit=edit, body=body, event_id=proposed.event_id
        )
        if problem:
            self.feedback.append(_feedback(candidate, problem, ()))
            return None
        self.tried.append(body)
        return candidate

    def _judge(self, candidate: Candidate) -> Judged:
        """Replay a candidate on every validation task and hold it against the gate."""
        case, memory = self.case, self.case.memory
        tried = attrs.evolve(memory, body=candidate.body)
        why = f"candidate {candidate.round}.{candidate.number}"
        executions = [
            self.run.replay(trial.task.id, tried, case.roles, candidate.event_id, why=why)
            for trial in case.trials
        ]
        comparisons = tuple(
            compare(t.task.id, t.purpose, execution.score, t.parent.score, t.none.score)
            for t, execution in zip(case.trials, executions, strict=True)
        )
        verdict = self._verdict(candidate.edit, comparisons)
        distance = levenshtein(memory.body, candidate.body)
        judged = self.run.emit(
            ev.CandidateJudged(
                memory=memory.id,
                version=memory.version,
                repair=self.name,
                round=candidate.round,
                number=candidate.number,
                comparisons=comparisons,
                failures=verdict.failures,
                parent_failures=verdict.parent_failures,
                accepted=verdict.accepted,
                improving=verdict.improving,
                trigger_gain=verdict.trigger_gain,
                worst_margin=verdict.worst_margin,
                distance=distance,
                rejected_by=verdict.rejected_by,
                reason=verdict.reason,
                evidence=tuple(dict.fromkeys(execution.event_id for execution in executions)),
            ),
            candidate.event_id,
        )
        self.feedback.append(_feedback(candidate, verdict.reason, comparisons))
        ranked = Ranked(
            verdict=verdict, distance=distance, round=candidate.round, number=candidate.number
        )
        return Judged(
            candidate=candidate,
            ranked=ranked,
            comparisons=comparisons,
            event_id=judged.event_id,
        )

    def _verdict(self, edit: Edit, comparisons: tuple[ev.Comparison, ...]) -> Verdict:
        epsilon = self.run.settings.epsilon
        if self.case.kind == "calibration":
            return judge_calibration(comparisons, epsilon=epsilon)
        return judge_reuse(
            comparisons,
            epsilon=epsilon,
            cites_diagnosed=edit.cites_any(self.case.defect.cited),
            states_correction=edit.states_correction,
            changes_body=True,
        )

    def _choose(self, judged: Sequence[Judged]) -> Judged | None:
        """The best accepted candidate; in calibration the first that passes (A.2)."""
        accepted = [each for each in judged if each.verdict.accepted]
        if not accepted or self.case.kind == "calibration":
            return accepted[0] if accepted else None
        best = rank(each.ranked for each in accepted)[0]
        return next(each for each in accepted if each.ranked is best)

    def _earned(self, chosen: Judged) -> ev.Capability | None:
        """What an improving candidate adds to the capability record (Eq. 11)."""
        related = tuple(c.task for c in chosen.comparisons if c.purpose == "related")
        if not chosen.verdict.improving or not related:
            return None
        return ev.Capability(
            id=f"c{len(self.case.memory.capabilities) + 1}",
            correction=chosen.candidate.edit.correction,
            tasks=related,
        )

    def _commit(self, candidate: Candidate, earned: ev.Capability | None, cause: str) -> None:
        memory = self.case.memory
        revised = self.run.emit(
            ev.MemoryRevised(
                memory=memory.id,
                version=memory.version + 1,
                body=candidate.body,
                repair=self.name,
                round=candidate.round,
                number=candidate.number,
                capability=earned,
            ),
            cause,
        )
        apply_lifecycle(self.run, memory.id, revised.event_id, repaired=memory)
        self._end("committed", candidate.round, revised.event_id)

    def _give_up(self, rounds: int, cause: str) -> None:
        if self.case.kind == "calibration":
            self._end("kept", rounds, cause)
            return
        ended = self._end("failed", rounds, cause)
        apply_lifecycle(self.run, self.case.memory.id, ended, repair_failed=True)

    def _end(self, outcome: ev.RepairOutcome, rounds: int, cause: str) -> str:
        memory = self.case.memory
        return self.run.emit(
            ev.RepairEnded(
                memory=memory.id,
                version=memory.version,
                repair=self.name,
                outcome=outcome,
                rounds=rounds,
            ),
            cause,
        ).event_id


def _feedback(
    candidate: Candidate, reason: str, comparisons: tuple[ev.Comparison, ...]
) -> llm.Feedback:
    return llm.Feedback(
        round=candidate.round,
        number=candidate.number,
        operation=candidate.edit.operation,
        edited_body=candidate.body,
        reason=reason,
        comparisons="; ".join(
            f"{c.purpose} {c.task}: edited {c.candidate:g}, rule {c.parent:g}, without {c.none:g}"
            for c in comparisons
        ),
    )
