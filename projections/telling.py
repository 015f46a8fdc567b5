"""Every event in one sentence a stranger understands; the same words in `why`, `log` and `diff`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ..eventlog import events as ev


class _OfVersion(Protocol):
    @property
    def memory(self) -> str: ...
    @property
    def version(self) -> int: ...


def counted(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def tell(event: ev.Event) -> str:
    """One line for an event, without its position."""
    match event:
        case ev.RunForked():
            changed = ", ".join(
                f"{name} = {value}" for name, value in sorted(event.changed.items())
            )
            return (
                f"forked from log {event.origin[:12]} after its event {event.position}, with "
                f"{changed or 'nothing changed'}"
            )
        case ev.MemoryOverridden():
            return _overridden(event)
        case ev.RunStarted():
            return f"run {event.run} started: {event.tasks} tasks"
        case ev.TaskStarted():
            return f"task {event.index} is {event.task} ({event.domain})"
        case ev.ContextObserved():
            return f"{event.role} was about to act on {event.task}"
        case ev.ModelReplied():
            who = f"{event.role}'s turn" if event.purpose == "role" else event.purpose
            return f"model replied for {who} ({event.completion_tokens} tokens, {event.finish})"
        case ev.TextEmbedded():
            return f"text {event.text[:12]} embedded in {event.dimensions} dimensions"
        case ev.ExecutionFinished():
            why = ", ".join(_graded(event.grading))
            return (
                f"team ran on {event.task} with {_injected(event.supplied)}: {event.score:.2f}"
                f"{f' ({why})' if why else ''}"
            )
        case ev.PassagesFound():
            return f"searched for {_quoted(event.query)}"
        case ev.MemoriesRetrieved():
            return f"retrieval for {event.role}: {_candidates(event.candidates)}"
        case ev.SelectionDecided():
            picked = ", ".join(event.selected) or "none"
            return f"selector picked {picked} for {event.role}{_fallback(event.fallback)}"
        case ev.MemorySupplied():
            return (
                f"{_version(event)} supplied to {event.role} on {event.task} "
                f"(similarity {event.similarity:.2f})"
            )
        case ev.TaskScored():
            return f"{event.task} scored {event.score:.2f} with {_injected(event.supplied)}"
        case ev.EffectMeasured():
            changed = "" if event.changed else ", the runs were the same"
            return (
                f"effect {signed(event.effect)} ({event.sign}) on {event.task}: "
                f"{event.score_with:.2f} with, {event.score_without:.2f} without{changed}"
            )
        case ev.ScopeChecked():
            boundary = f"; boundary {_quoted(event.boundary)}" if event.boundary else ""
            return (
                f"scope check: use conditions {_met(event.use)}, avoid conditions "
                f"{_met(event.avoid)}{boundary}{_fallback(event.fallback)}"
            )
        case ev.ContentDiagnosed():
            return _diagnosed(event)
        case ev.UseAttributed():
            return f"label {event.label}: {event.reason}"
        case ev.EffectRecorded():
            return (
                f"effect {signed(event.effect)} ({event.sign}, {event.label}) on {event.task} "
                f"recorded for {_version(event)} ({event.origin})"
            )
        case ev.UseConditionsGeneralised():
            return (
                f"use conditions generalised over {', '.join(event.tasks)}: "
                f"{_texts(event.returned)}{_fallback(event.fallback)}"
            )
        case ev.ConditionAdded():
            kind = event.kind.replace("_", " ")
            return f"{kind} gained {_quoted(event.text)} (by {event.source})"
        case ev.ConditionWithdrawn():
            return f"{event.kind.replace('_', ' ')} lost {_quoted(event.text)}"
        case ev.StateChanged():
            return f"{event.before} → {event.after} by rule {event.rule!r}"
        case ev.RepairStarted():
            judges = [
                f"{kind} {_names(tasks)}"
                for kind, tasks in (
                    ("retention", event.retention),
                    ("related", event.related),
                    ("calibration", tuple(t for t in event.calibration if t != event.trigger)),
                )
                if tasks
            ]
            return (
                f"repair of {_version(event)} after {event.kind} on {event.trigger}"
                f"{', judged also on ' if judges else ''}{'; '.join(judges)}"
            )
        case ev.RepairProposed():
            what = counted(event.edits, "edit") if event.edits else "NO_UPDATE"
            return f"round {event.round}: {what} proposed{_fallback(event.fallback)}"
        case ev.CandidateProposed():
            return _proposed(event)
        case ev.CandidateJudged():
            return _judged(event)
        case ev.MemoryRevised():
            return f"version {event.version} committed: {_quoted(event.body)}"
        case ev.RepairEnded():
            return f"repair {event.outcome} after {counted(event.rounds, 'round')}"
        case ev.ExtractionDecided():
            if not event.store:
                return f"nothing to learn for {event.role}{_fallback(event.fallback)}"
            return f"{event.role} proposed the rule {_quoted(event.body)}"
        case ev.IdentityJudged():
            found = f"the same as {event.matched}" if event.matched else "a new rule"
            among = _candidates(event.candidates)
            return f"judged {found} among {among}{_fallback(event.fallback)}"
        case ev.MemoryAdmitted():
            return (
                f"{event.memory} admitted for {event.role} from {event.source_task}: "
                f"{_quoted(event.body)}"
            )
        case ev.ExperienceAttached():
            note = f"; {event.note}" if event.note else ""
            return f"experience of {event.task} attached: {_quoted(event.body)}{note}"
        case ev.CalibrationDrawn():
            return f"to be calibrated on {_names(event.tasks)}"
        case ev.TaskCompleted():
            return f"{event.task} completed; {event.executions_asked} executions asked for"
        case ev.StoreCheckpointed():
            return f"store after task {event.index} is {event.state_hash[:12]}"
        case ev.RunFinished():
            return f"run finished: {event.tasks} tasks, mean score {event.mean_score:.3f}"
        case _:
            raise AssertionError(f"no sentence for {type(event).__name__}")


def signed(effect: float) -> str:
    """An effect, a difference or a margin with its sign; what rounds to nothing is +0.00."""
    return f"{round(effect, 2) + 0.0:+.2f}"


def _overridden(event: ev.MemoryOverridden) -> str:
    said = {
        "retire": "retired",
        "revive": "revived",
        "edit": "edited",
        "add-avoid": f"told to avoid {_quoted(event.text)}",
        "add-use": f"told to be used when {_quoted(event.text)}",
        "withdraw-condition": f"relieved of {_quoted(event.text)}",
    }
    return f"{_version(event)} {said[event.action]} by {event.by}: {_quoted(event.reason)}"


def _diagnosed(event: ev.ContentDiagnosed) -> str:
    if not event.defect:
        return f"diagnosis: no defect named{_fallback(event.fallback)}"
    verdict = "supported" if event.supported else f"unsupported ({event.problem})"
    cited = f" citing {', '.join(event.cited)}" if event.cited else ""
    return f"diagnosis: {event.defect}, {_quoted(event.description)}{cited}: {verdict}"


def _proposed(event: ev.CandidateProposed) -> str:
    made = f"rejected at once, {event.problem}" if event.problem else _quoted(event.body)
    return f"{tell_edit(event)} → {made}"


def tell_edit(event: ev.CandidateProposed) -> str:
    """The edit that makes a candidate, without the rule it makes."""
    edit = f"candidate {event.round}.{event.number}: {event.operation} at {_quoted(event.anchor)}"
    return f"{edit} with {_quoted(event.edit)}" if event.edit else edit


def _judged(event: ev.CandidateJudged) -> str:
    scores = "; ".join(
        f"{c.task} {c.candidate:.2f} (parent {c.parent:.2f}, none {c.none:.2f})"
        for c in event.comparisons
    )
    return f"{tell_verdict(event)} — {scores}"


def tell_verdict(event: ev.CandidateJudged) -> str:
    """What the gate said of a candidate, without the scores it read."""
    if event.accepted:
        return "accepted" + (", improving" if event.improving else "")
    by = f" by {event.rejected_by}" if event.rejected_by else ""
    return f"rejected{by}: {event.reason}"


def _version(event: _OfVersion) -> str:
    return f"{event.memory}.v{event.version}"


def _graded(grading: Mapping[str, str]) -> Iterator[str]:
    """How a score came about, as far as that says something about it."""
    if "reason" in grading:
        yield grading["reason"]
    if grading.get("oracle") == "inside":
        yield "judged inside its jail"
    if grading.get("isolation") == "none":
        yield "without isolation"


def _injected(supplied: tuple[ev.Injected, ...]) -> str:
    return ", ".join(f"{s.memory}.v{s.version}" for s in supplied) or "no memory"


def _candidates(candidates: tuple[ev.Candidate, ...]) -> str:
    return ", ".join(f"{c.memory} ({c.similarity:.2f})" for c in candidates) or "none near enough"


def _met(holds: bool) -> str:
    return "met" if holds else "not met"


def _names(tasks: tuple[str, ...]) -> str:
    return ", ".join(tasks) or "none"


def _quoted(text: str) -> str:
    return f"“{text}”"


def _texts(texts: tuple[str, ...]) -> str:
    return ", ".join(_quoted(text) for text in texts) or "nothing"


def _fallback(why: str) -> str:
    return f" (fallback, the model gave no usable answer: {why})" if why else ""
