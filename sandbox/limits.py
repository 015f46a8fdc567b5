"""What one jailed program may use."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen, validators

_POSITIVE: Any = validators.gt(0)


@frozen
class Limits:
    """Bounds of one jail; each but the last two is the program's own doing and judges it.

    Attributes:
        cpu_seconds: Processor time of a whole grading, or of one call of a worker.
        blocked_seconds: Time spent asleep or waiting while an answer is due. Waiting for a
            processor is not counted, so a loaded machine cannot use this up.
        memory_mib: Address space of the jailed process, in MiB.
        files_mib: All files it may write together, in MiB; nothing is kept.
        output_kib: Printed text kept of one call, in KiB; the rest is dropped.
        threads: Threads it may have; it can never have a second process.
        wall_seconds: When to suspect the machine, not the program, and start again.
        attempts: How often to start before `Infrastructure` is raised.
    """

    cpu_seconds: int = field(default=10, validator=_POSITIVE)
    blocked_seconds: float = field(default=10.0, validator=_POSITIVE)
    memory_mib: int = field(default=1024, validator=validators.ge(64))
    files_mib: int = field(default=16, validator=_POSITIVE)
    output_kib: int = field(default=64, validator=_POSITIVE)
    threads: int = field(default=64, validator=_POSITIVE)
    wall_seconds: float = field(default=180.0, validator=_POSITIVE)
    attempts: int = field(default=3, validator=_POSITIVE)
