"""A small log for tests: two tasks, eight events, long and short blobs."""

from __future__ import annotations

from discernmem.eventlog import Draft, EventLog, digest
from discernmem.eventlog import events as ev

SHORT = "Put the red block on the blue block."
LONG = "Observation: the red block is on the table. " * 40


def draft(event: ev.Event, task: int | None = 1, cause: str | None = None, *blobs: str) -> Draft:
    return Draft(
        event=event,
        task_index=task,
        actor="test",
        cause=cause,
        blobs=tuple(blob.encode() for blob in blobs),
    )


def ref(text: str) -> ev.BlobRef:
    return ev.BlobRef(digest(text.encode()))


def task_started(index: int, text: str = SHORT) -> Draft:
    event = ev.TaskStarted(index=index, task=f"t{index}", domain="blocks", text=ref(text))
    return draft(event, index, None, text)


def reply(request: str, task: int = 1, text: str | None = "pick up red") -> Draft:
    event = ev.ModelReplied(
        request=request,
        purpose="role",
        role="actor",
        messages=(ev.MessageRef(role="user", content=ref(LONG)),),
        temperature=0.0,
        top_p=0.95,
        max_tokens=64,
        seed=1,
        schema=None,
        text=text,
        text_blob=None if text else ref(SHORT),
        finish="stop",
        prompt_tokens=9,
        completion_tokens=3,
    )
    return draft(event, task, None, LONG, *(() if text else (SHORT,)))


def completed(index: int, score: float = 1.0) -> Draft:
    event = ev.TaskCompleted(index=index, task=f"t{index}", score=score, executions_asked=2)
    return draft(event, index)


def admitted(memory: str = "m1", task: int = 1) -> Draft:
    event = ev.MemoryAdmitted(
        memory=memory,
        role="actor",
        body="Look before moving.",
        use_when=("blocks are stacked",),
        avoid_when=(),
        source_task="t1",
        source_execution="x",
    )
    return draft(event, task)


def changed(cause: str, *evidence: str, memory: str = "m1", task: int = 2) -> Draft:
    event = ev.StateChanged(
        memory=memory,
        version=1,
        before="provisional",
        after="active",
        rule="promotion",
        evidence=evidence,
    )
    return draft(event, task, cause)


def fill(log: EventLog) -> None:
    """Two tasks: 8 events, the last of them outside tasks."""
    log.append([task_started(1), reply("a"), admitted(), completed(1)])
    head = log.head().position
    log.append([task_started(2), reply("b", 2, None)])
    first, answer = log.at(1), log.at(2)
    assert first is not None
    assert answer is not None
    log.append([changed(first.event_id, answer.event_id)], expected=head + 2)
    log.append([draft(ev.RunFinished(run="r", tasks=2, mean_score=0.5), None)])
