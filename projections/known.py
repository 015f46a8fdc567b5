"""Whether a log has what a person names."""

from __future__ import annotations

from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog


def require_memory(log: EventLog, name: str) -> None:
    """Refuse a name that no memory of the log has.

    Raises:
        BadInput: there is none of that name; says which there are.
    """
    if log.find(f"memory:{name}") is None:
        ((count,),) = log.rows("select count(*) from events where type = 'MemoryAdmitted'")
        known = f"m1 to m{count}" if count else "none"
        raise BadInput(f"{log.path}: has no memory {name!r} ({known})")
