"""What a team said and did: the page of one execution, and of the pair behind an effect."""

from __future__ import annotations

from typing import Final

from ...eventlog import events as ev
from ...projections.facts import Facts, fact
from ...projections.trajectories import trajectory
from ...projections.uses import use_of
from .visiting import Answer, NotHere, Visit, event_at

_CITING: Final = 20
"""Conclusions that are listed as resting on an execution."""


def execution(visit: Visit, position: str) -> Answer:
    """One execution: under which memories, how it was scored, and step by step what happened."""
    recorded = event_at(visit, position, "ExecutionFinished")
    made = fact(recorded, ev.ExecutionFinished)
    steps = trajectory(visit.log, made)
    replies = visit.log.by_ids({step.reply for step in steps if step.reply})
    citing = [
        each
        for each in visit.log.read(
            after=recorded.position,
            until=visit.log.position_at_task(recorded.task_index or 0),
            types=("TaskScored", "EffectMeasured", "CandidateJudged", "RepairStarted"),
        )
        if recorded.event_id.encode() in each.payload
    ]
    return Answer(
        "execution",
        f"Execution on {made.event.task}",
        {
            "execution": made,
            "steps": steps,
            "replies": {event_id: reply.position for event_id, reply in replies.items()},
            "index": visit.catalogue.tasks.get(made.event.task, 0),
            "citing": citing[:_CITING],
        },
    )


def effect(visit: Visit, position: str) -> Answer:
    """The two executions behind an effect side by side, and what was concluded from them."""
    recorded = event_at(visit, position, "EffectMeasured", "EffectRecorded")
    facts = Facts(visit.log, visit.log.read(stream=recorded.stream_id))
    measured = facts.above(recorded, ev.EffectMeasured)
    if measured is None:
        raise NotHere(f"Event {position} was recorded without a measurement.")
    facts.learn([measured])
    use = use_of(facts, measured)
    event = use.measured.event
    return Answer(
        "effect",
        f"Effect of {event.memory} on {event.task}",
        {
            "use": use,
            "with_steps": trajectory(visit.log, use.with_memory),
            "without_steps": trajectory(visit.log, use.without),
            "index": visit.catalogue.tasks.get(event.task, 0),
            "turns": [
                each
                for each in facts.own
                if each.position > measured.position
                and each.type in ("StateChanged", "MemoryRevised", "RepairStarted")
                and any(above.position == measured.position for above in facts.ancestors(each))
            ],
        },
    )
