"""A person's decisions: recorded between two tasks, and carried out there by every replay."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from ..decisions.overrides import TEXT_LIMIT, consequences, refusal, resolved
from ..eventlog import events as ev
from ..eventlog.codec import digest
from ..eventlog.errors import BadInput
from ..eventlog.log import Draft, EventLog, Recorded
from ..projections.audit import memory_now
from ..projections.changes import CHANGING
from ..projections.store import Memory
from ..projections.telling import tell
from ..projections.timeline import last_completed
from .headers import header_of
from .run import Run

_EXPECTED = re.compile(r"v(\d+)(?:@(\d+))?")


@attrs.frozen
class Expectation:
    """What a person looked at: a version of a memory, and the last event they saw, if any."""

    version: int
    position: int | None = None

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """The expectation written ``v2``, or ``v2@419`` for the store as of event 419.

        Raises:
            BadInput: it is written otherwise.
        """
        match = _EXPECTED.fullmatch(text)
        if match is None:
            raise BadInput(f"--expect {text}: write v2, or v2@419 for the store as of event 419")
        return cls(int(match[1]), int(match[2]) if match[2] else None)


@attrs.frozen(kw_only=True)
class Decision:
    """What a person wants of a memory and why; ``kind`` tells two equal conditions apart."""

    memory: str
    action: ev.OverrideAction
    text: str = ""
    kind: ev.ConditionKind | None = None
    reason: str
    by: str


def override(
    path: Path, decision: Decision, expected: Expectation | None = None
) -> tuple[Recorded, ...]:
    """Record a decision and what follows from it; returns both.

    Raises:
        BadInput: the run is finished or inside a task, there is no such memory, it changed since
            the person looked, or the decision cannot be carried out on it; nothing is recorded.
        LogBusy: the run is being recorded right now.
    """
    _require_words(path, decision)
    with EventLog.open(path, write=True) as log:
        _require_between_tasks(log)
        head = log.head().position
        memory = memory_now(log, decision.memory)
        if expected is not None:
            _require_unchanged(log, memory, expected)
        problem = refusal(memory, decision.action, decision.text, decision.kind)
        if problem:
            raise BadInput(f"{path}: {problem}; nothing was recorded")
        text, kind = resolved(memory, decision.action, decision.text, decision.kind)
        event = ev.MemoryOverridden(
            memory=memory.id,
            version=memory.version,
            body=body_digest(memory),
            action=decision.action,
            kind=kind,
            text=text,
            reason=decision.reason,
            by=decision.by,
        )
        cause = log.next_id(event)
        drafts = [Draft(event=event, actor="override")]
        drafts += [
            Draft(event=each, actor="cycle", cause=cause)
            for each in consequences(memory, event, cause)
        ]
        return log.append(drafts, expected=head)


def _require_words(path: Path, decision: Decision) -> None:
    if not decision.reason.strip() or not decision.by.strip():
        raise BadInput(f"{path}: a decision needs a reason and a name; nothing was recorded")
    if max(len(decision.reason), len(decision.by)) > TEXT_LIMIT:
        raise BadInput(
            f"{path}: a reason and a name have at most {TEXT_LIMIT} characters; "
            "nothing was recorded"
        )
    try:
        f"{decision.text}{decision.reason}{decision.by}".encode()
    except UnicodeEncodeError:
        raise BadInput(f"{path}: the words are not UTF-8; nothing was recorded") from None


def body_digest(memory: Memory) -> str:
    """What names the rule a decision is about."""
    return digest(memory.body.encode())


def _require_between_tasks(log: EventLog) -> None:
    tasks, done = header_of(log).tasks, last_completed(log)
    if done == tasks:
        raise BadInput(
            f"{log.path}: the run is over, no decision can change it; fork it at an earlier task"
        )
    if log.last_task() > done:
        raise BadInput(
            f"{log.path}: task {done + 1} is not completed; `discernmem resume {log.path} "
            f"--until {done + 1}` ends it, then decide"
        )


def _require_unchanged(log: EventLog, memory: Memory, expected: Expectation) -> None:
    """Refuse a decision on a memory that is another than the person saw, and say what changed."""
    if not 1 <= expected.version <= memory.version:
        raise BadInput(
            f"{log.path}: {memory.id} has no version {expected.version}; it has 1 to "
            f"{memory.version}"
        )
    seen, head = expected.position, log.head().position
    if seen is not None and seen > head:
        raise BadInput(
            f"{log.path}: has no event {seen} that you could have seen; it ends at {head}"
        )
    if seen is None:
        if memory.version == expected.version:
            return
        following = memory.versions[expected.version].made_by
        made = log.by_id(following)
        assert made is not None
        seen = made.position - 1
    since = list(log.read(after=seen, stream=f"memory:{memory.id}", types=CHANGING))
    if since or memory.version != expected.version:
        told = "; ".join(f"{tell(recorded.event)} [{recorded.position}]" for recorded in since)
        raise BadInput(
            f"{log.path}: {memory.id} is at version {memory.version} and changed since you "
            f"looked: {told}; look again with `discernmem why {memory.id} {log.path}`"
        )


def carry_out_overrides(run: Run, index: int) -> None:
    """Before task ``index``: do what was decided here, and in a fork what the origin decided here.

    A decision of the origin is taken over if the memory still is what was decided about.
    """
    journal = run.journal
    journal.end_task()
    waiting = list(journal.inherited_overrides(index))
    for recorded in journal.overrides():
        due = next((each for each in waiting if _applies(run, each)), None)
        if due is not None and due.event == recorded.event:
            # Taken over before the run was interrupted here; those before it did not apply.
            del waiting[: waiting.index(due) + 1]
        _carry_out(run, recorded)
    for inherited in waiting:
        if _applies(run, inherited):
            _carry_out(run, journal.take_over(inherited))


def _carry_out(run: Run, recorded: Recorded) -> None:
    event = recorded.event
    assert isinstance(event, ev.MemoryOverridden)
    memory = run.state.store[event.memory]
    for each in consequences(memory, event, recorded.event_id):
        run.emit(each, recorded.event_id)


def _applies(run: Run, inherited: Recorded) -> bool:
    event = inherited.event
    assert isinstance(event, ev.MemoryOverridden)
    store = run.state.store
    if event.memory not in store:
        return False
    memory = store[event.memory]
    same = (memory.version, body_digest(memory)) == (event.version, event.body)
    return same and not refusal(memory, event.action, event.text, event.kind)
