"""A program kept in its jail and called again and again."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from ..eventlog.closing import Closing
from ..eventlog.errors import BadInput, Infrastructure
from .inside import frames
from .inside.wire import Decoder, Encoder, Malformed, Unmarshallable, refuse, unknown
from .jail import Jail
from .limits import Limits
from .opening import open_way
from .watch import RULES, Ended, MachineTrouble, Watch, load_trouble

_LIFE = 3600  # seconds of processor time after which the kernel ends any worker
DEFAULT = Limits()


class ProgramFailed(Exception):
    """The program, not the machine, gave no value.

    Attributes:
        kind: The name of the exception it raised, or how it ended, such as `CPU limit`.
        text: What the exception says; the program's own words.
    """

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind = kind
        self.text = text


class Worker(Closing):
    """A module loaded once in a jail; its functions take and give plain values.

    State that the program keeps lasts from call to call. The jail ends with `close`, with the
    thread that opened it, and with a call that uses up its limits.

    Attributes:
        isolation: The level in force.
    """

    def __init__(
        self, source: str, *, limits: Limits = DEFAULT, isolation: str = "bubblewrap"
    ) -> None:
        """Start a jail and load the module.

        Raises:
            ProgramFailed: The module cannot be loaded.
            Infrastructure: No isolation can be had, or the machine is too busy.
            BadInput: The isolation is unknown, or `none` was asked for by root.
        """
        way = open_way(isolation)
        self.isolation = way.isolation
        self._limits = limits
        try:
            self._jail = Jail(way, "candidate", limits, _LIFE)
        except OSError as error:
            raise Infrastructure(f"sandbox: no jail ({error}): free the machine") from error
        order = {"source": source, "printed": limits.output_kib << 10}
        with contextlib.ExitStack() as undo:
            undo.enter_context(self._jail)
            try:
                trouble = load_trouble(self._asked(frames.LOAD, json.dumps(order).encode()))
            except Ended as end:
                raise ProgramFailed(end.reason) from None
            if trouble is not None:
                raise ProgramFailed(str(trouble["error"]), "the module cannot be loaded")
            undo.pop_all()

    def close(self) -> None:
        """End the jail; nothing of it is left."""
        self._jail.close()

    @property
    def closed(self) -> bool:
        """Whether its jail has ended."""
        return self._jail.channel.closed

    def call(self, name: str, *arguments: Any) -> Any:
        """The value of a function of the module.

        Raises:
            ProgramFailed: It raised, used up its limits, left, or gave no plain value.
            BadInput: An argument is no plain value; the program was not called.
            Infrastructure: The machine is too busy; the worker is of no use any more.
        """
        body = json.dumps(self._message(name, arguments)).encode()
        try:
            reply = json.loads(self._asked(frames.REQUEST, body))
            if "raised" in reply:
                raise _failure(reply)
            return Decoder(reply["table"], unknown).value(reply["value"])
        except Malformed:
            raise ProgramFailed("the value is not plain data") from None
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ProgramFailed(RULES) from None

    def _message(self, name: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
        encoder = Encoder(refuse)
        try:
            slots = [encoder.add(argument) for argument in arguments]
        except Unmarshallable as error:
            raise BadInput(f"sandbox: an argument of type {error} cannot enter a jail") from None
        return {
            **dict.fromkeys(("names", "values", "sync", "born"), ()),
            "do": "call",
            "on": 0,
            "name": name,
            "arguments": slots,
            "table": encoder.table,
        }

    def _asked(self, kind: bytes, body: bytes) -> bytes:
        try:
            watch = Watch([(self._jail, self._limits.cpu_seconds)], self._limits)
            self._jail.channel.send(kind, body)
            return watch.receive(self._jail)[1]
        except Ended as end:
            self.close()
            raise ProgramFailed(end.reason) from None
        except MachineTrouble as trouble:
            self.close()
            raise Infrastructure(f"sandbox: {trouble}: free the machine, then try again") from None


def _failure(reply: dict[str, Any]) -> ProgramFailed:
    raised = reply["raised"]
    return ProgramFailed(str(raised["name"])[:100], str(raised["text"]))
