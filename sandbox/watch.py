"""Waiting for jails while watching what they use: who judges, the program or the machine."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from attrs import define

from .channel import exchange
from .inside.frames import FrameTooLong
from .jail import Jail
from .limits import Limits

CPU, STALLED, OUTPUT = "CPU limit", "stalled", "output limit"
RULES = "the program broke the rules of its channel"

_LOOK = 0.05  # seconds between two looks at what the jails use
_HELD_UP = 1.0  # seconds after which a look is so late that this process was held up itself
_START = 60.0  # seconds a jail may take to start before the machine is suspected


class MachineTrouble(Exception):
    """The machine, not the program, kept a jail from its end; worth another attempt."""


class Ended(Exception):
    """A program used up what it may, or left; the text is a kind of reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@define
class _Allowance:
    jail: Jail
    cpu: float
    blocked: float


class Watch:
    """Waits for frames of some jails within the limits of one grading or one call."""

    def __init__(self, jails: Sequence[tuple[Jail, float]], limits: Limits) -> None:
        """Watch jails, each with the seconds of processor time it has from now on.

        Raises:
            MachineTrouble: One of them does not start; says what bubblewrap said.
        """
        self._limits = limits
        self._last = time.monotonic() + limits.wall_seconds
        for jail, _ in jails:
            if not jail.ready(_START):
                raise MachineTrouble(jail.complaint())
            jail.meter.sample(owed=0)
        self._allowances = [
            _Allowance(jail, jail.meter.cpu + cpu, jail.meter.blocked + limits.blocked_seconds)
            for jail, cpu in jails
        ]
        self._look = time.monotonic() + _LOOK

    def receive(self, jail: Jail) -> tuple[bytes, bytes]:
        """The next frame of a jail that owes one.

        Raises:
            Ended: The jail it is waited for used up its share, broke the rules, or left.
            MachineTrouble: Too much time passed although nobody used up anything.
        """
        began = time.monotonic()
        while True:
            try:
                frame = jail.channel.frame()
            except FrameTooLong:
                raise Ended(OUTPUT) from None
            if frame is not None:
                return frame
            if jail.channel.closed:
                raise Ended(_left(jail.end()))
            now = time.monotonic()
            if now >= self._look:
                self._judge(jail, min(now - began, _HELD_UP))
                self._look = now + _LOOK
            exchange([one.jail.channel for one in self._allowances], self._look - now)

    def _judge(self, owing: Jail, owed: float) -> None:
        """Look at what was used; only who owes now, for so many seconds, can have been blocked.

        Two jails may have owed in turn many times since the last look, too often to look at each
        turn. What passed between their turns was this process's own doing.
        """
        for allowance in self._allowances:
            meter, owes = allowance.jail.meter, allowance.jail is owing
            meter.sample(owed=owed if owes else 0)
            if owes and meter.cpu >= allowance.cpu:
                raise Ended(CPU)
            if owes and meter.blocked >= allowance.blocked:
                raise Ended(STALLED)
        if time.monotonic() > self._last:
            raise MachineTrouble(f"{self._limits.wall_seconds:.0f} s passed on a busy machine")


def load_trouble(body: bytes) -> dict[str, Any] | None:
    """How loading a program failed, from what it may have written itself; None if it is loaded.

    Raises:
        Ended: It is nothing that an honest jail says.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if said == {}:
        return None
    if not isinstance(said, dict) or set(said) != {"error", "missing"}:
        raise Ended(RULES)
    return {key: None if value is None else str(value)[:100] for key, value in said.items()}


def _left(status: int | None) -> str:
    if status is None:
        return "the program closed its channel"
    if status == 128 + 24:
        return CPU
    if status > 128:
        return f"the program was ended by signal {status - 128}"
    return "the program left before it had answered"
