"""DMRRepair of Algorithm 1: propose local edits, judge them on past tasks, commit one (§3.2, A.2).

A reuse-triggered repair and a calibration repair share everything but their validation tasks,
their gate, which accepted candidate wins, and what failure means.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ..decisions import llm
from ..decisions.edits import Edit, check, levenshtein
from ..decisions.gate import Purpose, Ranked, Verdict, compare, judge_calibration, judge_reuse, rank
from ..decisions.retention import draw_retention, pool, rank_related, saturated
from ..decisions.retrieval import query_for_related
from ..eventlog import events as ev
from ..projections.history import TaskRecord
from ..projections.store import Memory
from .executions import Execution
from .reuse import Assessment, apply_lifecycle
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

    ``trials`` hold the trigger first. ``defect`` is what the diagnosis named; a calibration repair
    has none and only knows that the trigger went worse.
    """

    memory: Memory
    kind: ev.RepairKind
    trials: tuple[Trial, ...]
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
class Judged:
    """A candidate that reached its replays, with the verdict on it and its rank."""

    ranked: Ranked
    edit: Edit
    body: str
    comparisons: tuple[ev.Comparison, ...]
    event_id: str

    @property
    def verdict(self) -> Verdict:
        """What the gate said."""
        return self.ranked.verdict


def repair_after_reuse(run: Run, assessment: Assessment) -> None:
    """Repair a memory whose harmful in-scope use has a supported defect."""
    assert assessment.diagnosis is not None
    measured = assessment.measured
    memory = run.state.store[measured.memory.id]
    trigger = Trial(
        task=measured.task,
        purpose="trigger",
        parent=measured.with_memory,
        none=measured.without,
    )
    before = run.state.history.before(measured.task.index)
    exclude = {measured.task.id, memory.source_task}
    effects = run.state.evidence.of_all_versions(memory.id, memory.version)
    known = pool(effects, memory.capabilities)
    retention = draw_retention(
        known,
        before=before,
        exclude=exclude,
        n1=run.settings.n1,
        seed=run.settings.seed,
        memory=memory.id,
        trigger=measured.task.id,
    )
    kept = [make_trial(run, memory, task, "retention", assessment.cause) for task in retention]
    related, skipped = _related(run, assessment, memory, before, exclude, known)
    case = Case(
        memory=memory,
        kind="reuse",
        trials=(trigger, *kept, *related),
        defect=assessment.diagnosis,
        cause=assessment.cause,
    )
    _Repair(run, case, skipped).carry_out()


def repair_after_calibration(run: Run, memory: Memory, trials: Sequence[Trial], cause: str) -> None:
    """Repair a new memory that did harm in calibration; failing leaves it as it is (A.2)."""
    no_diagnosis = llm.Diagnosis(defect="", description="", cited=())
    case = Case(
        memory=memory, kind="calibration", trials=tuple(trials), defect=no_diagnosis, cause=cause
    )
    _Repair(run, case, ()).carry_out()


def make_trial(run: Run, memory: Memory, task_id: str, purpose: Purpose, cause: str) -> Trial:
    """Replay a validation task with the memory and with none."""
    return Trial(
        task=run.state.history[task_id],
        purpose=purpose,
        parent=run.replay(task_id, memory, cause),
        none=run.replay(task_id, None, cause),
    )


def _related(
    run: Run,
    assessment: Assessment,
    memory: Memory,
    before: Sequence[TaskRecord],
    exclude: set[str],
    known: Sequence[str],
) -> tuple[list[Trial], tuple[str, ...]]:
    """H2: the nearest earlier tasks outside the pool that can still show something (Eq. 8)."""
    assert assessment.diagnosis is not None
    wanted = run.settings.n2
    outside = [task for task in before if task.id not in exclude and task.id not in known]
    query = query_for_related(
        memory.body,
        memory.use_texts,
        memory.avoid_texts,
        memory.capabilities,
        assessment.diagnosis.description,
    )
    tries = run.settings.related_tries if wanted else 0
    near = run.similar_tasks(query, tries, outside, assessment.cause)
    measured = [task for task in outside if task.id in near]
    ranked = rank_related(near, before=measured, exclude=exclude, pool=known)
    related: list[Trial] = []
    skipped: list[str] = []
    for task_id in ranked[:tries]:
        if len(related) == wanted:
            break
        trial = make_trial(run, memory, task_id, "related", assessment.cause)
        if saturated(trial.parent.score, trial.none.score):
            skipped.append(task_id)
        else:
            related.append(trial)
    return related, tuple(skipped)


@attrs.define
class _Repair:
    """One repair in progress: what was tried so far and what came of it."""

    run: Run
    case: Case
    skipped: tuple[str, ...]
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
        for rounds in range(1, self.run.settings.rounds + 1):
            facts = self._facts()
            edits, proposed = self._propose(rounds, facts, cause)
            if not edits:
                # The next round would be told the same and answer the same.
                break
            chosen = self._choose(self._judge_all(rounds, edits, facts.displayed_ids, proposed))
            if chosen is not None:
                self._commit(chosen, rounds)
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
                skipped=self.skipped,
                evidence=tuple(dict.fromkeys(e.event_id for e in executions)),
            ),
            case.cause,
        ).event_id

    def _facts(self) -> llm.RepairFacts:
        case, memory = self.case, self.case.memory
        return llm.RepairFacts(
            role=memory.owner,
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
        answer = self.run.decider.decide(llm.REPAIR, facts, role=memory.owner, cause=cause)
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

    def _judge_all(
        self, round_: int, edits: Sequence[Edit], displayed: Sequence[str], cause: str
    ) -> list[Judged]:
        """The candidates that could be made; in calibration up to the first that passes."""
        judged: list[Judged] = []
        for number, edit in enumerate(edits, start=1):
            outcome = self._try(round_, number, edit, displayed, cause)
            if outcome is not None:
                judged.append(outcome)
                if outcome.verdict.accepted and self.case.kind == "calibration":
                    break
        return judged

    def _try(
        self, round_: int, number: int, edit: Edit, displayed: Sequence[str], cause: str
    ) -> Judged | None:
        """Make one candidate and, if it can be made, replay it on every validation task."""
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
        if problem:
            self.feedback.append(_feedback(round_, number, edit, body, problem, ()))
            return None
        self.tried.append(body)
        judged = self._judge(round_, number, edit, body, proposed.event_id)
        self.feedback.append(
            _feedback(round_, number, edit, body, judged.verdict.reason, judged.comparisons)
        )
        return judged

    def _judge(self, round_: int, number: int, edit: Edit, body: str, cause: str) -> Judged:
        memory = self.case.memory
        candidate = attrs.evolve(memory, body=body)
        trials = self.case.trials
        executions = [self.run.replay(trial.task.id, candidate, cause) for trial in trials]
        comparisons = tuple(
            compare(t.task.id, t.purpose, execution.score, t.parent.score, t.none.score)
            for t, execution in zip(trials, executions, strict=True)
        )
        verdict = self._verdict(edit, comparisons)
        distance = levenshtein(memory.body, body)
        judged = self.run.emit(
            ev.CandidateJudged(
                memory=memory.id,
                version=memory.version,
                repair=self.name,
                round=round_,
                number=number,
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
            cause,
        )
        return Judged(
            ranked=Ranked(verdict=verdict, distance=distance, round=round_, number=number),
            edit=edit,
            body=body,
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

    def _commit(self, chosen: Judged, rounds: int) -> None:
        memory = self.case.memory
        related = tuple(c.task for c in chosen.comparisons if c.purpose == "related")
        earned = (
            ev.Capability(
                id=f"c{len(memory.capabilities) + 1}",
                correction=chosen.edit.correction,
                tasks=related,
            )
            if chosen.verdict.improving and related
            else None
        )
        revised = self.run.emit(
            ev.MemoryRevised(
                memory=memory.id,
                version=memory.version + 1,
                body=chosen.body,
                repair=self.name,
                round=chosen.ranked.round,
                number=chosen.ranked.number,
                capability=earned,
            ),
            chosen.event_id,
        )
        apply_lifecycle(self.run, memory.id, revised.event_id, repaired=memory)
        self._end("committed", rounds, revised.event_id)

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
    round_: int,
    number: int,
    edit: Edit,
    body: str,
    reason: str,
    comparisons: tuple[ev.Comparison, ...],
) -> llm.Feedback:
    return llm.Feedback(
        round=round_,
        number=number,
        operation=edit.operation,
        edited_body=body,
        reason=reason,
        comparisons="; ".join(
            f"{c.purpose} {c.task}: edited {c.candidate:g}, rule {c.parent:g}, without {c.none:g}"
            for c in comparisons
        ),
    )
