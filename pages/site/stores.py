"""The store as it was after any task, with the rules as they were worded then."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from ...projections.analyses import STATES
from ...projections.timeline import completed_position, last_completed, settled_position
from .catalogue import Catalogue
from .visiting import Answer, NotHere, Pages, Visit

_PAGE: Final = 50
_STATES: Final = ("", *STATES)
_HELD: Final = "{0}.since <= :position and ({0}.until is null or {0}.until > :position)"
_MEMORIES: Final = f"""
select m.number, m.id, m.owner, s.state, s.version, t.text as body,
  max(s.since, t.since) as since, k.supplied, k.positive, k.neutral, k.negative
from spans s
join memories m using (number)
join texts t on t.number = s.number and t.kind = 'rule' and {_HELD.format("t")}
left join (
  select number, count(*) filter (where what = 'supplied') as supplied,
    count(*) filter (where what = 'positive') as positive,
    count(*) filter (where what = 'neutral') as neutral,
    count(*) filter (where what = 'negative') as negative
  from marks where position <= :position group by number
) k using (number)
where {_HELD.format("s")} and :state in ('', s.state)
order by m.number limit :size offset :skip
"""
_CONDITIONS: Final = f"""
select t.number, t.kind, t.text, t.since from texts t
where t.kind <> 'rule' and {_HELD.format("t")} and t.number between :first and :last
order by t.number, t.kind desc, t.since, t.id
"""


def store(visit: Visit) -> Answer:
    """The store after a task, the last completed one if none is asked for."""
    last = last_completed(visit.log)
    task = _asked(visit, last)
    # After the last task comes what a person decided since.
    position = settled_position(visit.log) if task == last else completed_position(visit.log, task)
    before = completed_position(visit.log, task - 1) if task else 0
    state = visit.choice("state", _STATES)
    states = _states(visit.catalogue, position)
    pages = Pages.asked(visit, states[state] if state else sum(states.values()), _PAGE)
    at = {"position": position, "state": state, "size": pages.size, "skip": pages.skip}
    memories = visit.catalogue.rows(_MEMORIES, at)
    return Answer(
        "store",
        f"Store after task {task}",
        {
            "task": task,
            "last": last,
            "before": before,
            "position": position,
            "state": state,
            "states": states,
            "memories": memories,
            "conditions": _conditions(visit.catalogue, position, memories),
            "pages": pages,
        },
    )


def _asked(visit: Visit, last: int) -> int:
    """The task asked for.

    Raises:
        NotHere: it is none of those completed, and not 0.
    """
    asked = visit.text("at")
    if not asked:
        return last
    if not asked.isdecimal() or len(asked) > 15 or int(asked) > last:
        done = f"the last completed task is {last}" if last else "no task is completed yet"
        raise NotHere(f"No store after task {asked}: {done}, and 0 is before the first.")
    return int(asked)


def _states(catalogue: Catalogue, position: int) -> Mapping[str, int]:
    """How many memories were in each state."""
    rows = catalogue.rows(
        f"select state, count(*) from spans s where {_HELD.format('s')} group by 1",
        {"position": position},
    )
    return {**dict.fromkeys(_STATES[1:], 0), **{row[0]: row[1] for row in rows}}


def _conditions(
    catalogue: Catalogue, position: int, memories: Sequence[sqlite3.Row]
) -> Mapping[int, Sequence[sqlite3.Row]]:
    """The conditions these memories had, by their numbers."""
    found: dict[int, list[sqlite3.Row]] = defaultdict(list)
    if memories:
        span = {"first": memories[0]["number"], "last": memories[-1]["number"]}
        for row in catalogue.rows(_CONDITIONS, {"position": position, **span}):
            found[row["number"]].append(row)
    return found
