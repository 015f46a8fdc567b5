"""The jail of the program under judgement: it serves calls, and knows nothing of any test.

All that leaves this process is untrusted: the program shares it and may say anything in its place.
So nothing is decided here; `standins` is the side that decides.
"""

from __future__ import annotations

import collections
import copy
import io
import json
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from .describing import (
    HELD_BASES,
    PLAIN_BASES,
    class_marks,
    error_arguments,
    error_text,
    plain_base,
)
from .frames import ANSWER, LOAD, REQUEST, FrameTooLong, Stream
from .shared import Shared
from .wire import ERRORS, Decoder, Encoder, Malformed, Node, Slot

_RETURNED = 64
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "__str__": str,
    "__repr__": repr,
    "__hash__": hash,
    "__bool__": operator.truth,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__getitem__": operator.getitem,
}


class _Kept(io.RawIOBase):
    """Keeps the first bytes written to it and drops the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = memoryview(data).cast("B")
        self._kept += part[: self._most - len(self._kept)]
        return len(part)

    def take(self) -> str:
        if not self._kept:
            return ""
        text = self._kept.decode("utf-8", "replace")
        self._kept.clear()
        return text


def _text_file(kept: Any) -> io.TextIOWrapper:
    """A text file over a raw one: nothing waits to be flushed."""
    return io.TextIOWrapper(kept, "utf-8", "replace", write_through=True)


class Program:
    """The loaded program and what of it the other side holds a handle of."""

    def __init__(self, printed: int) -> None:
        self._objects: dict[int, Any] = {0: types.ModuleType("solution")}
        self._numbers: dict[int, int] = {}
        self._described: set[int] = set()
        self._classes: list[list[Any]] = []
        self._shared = Shared()
        self._fresh = -1
        self._returned: collections.deque[int] = collections.deque()
        self._kept = (_Kept(printed), _Kept(printed))
        # How often a result nobody else holds, and one inside it, is referred to on its way out.
        self._own = (0, 0)
        self._seen: list[int] = []
        self._performed("special", lambda: [[]], "__call__", [], {})
        self._own = (self._seen[0], self._seen[1])

    def load(self, source: str) -> dict[str, Any]:
        """Run the module; says how that ended, by the kind of trouble only."""
        module = self._objects[0]
        module.__file__ = "solution.py"
        sys.modules["solution"] = module
        sys.stdout, sys.stderr = (_text_file(kept) for kept in self._kept)
        try:
            with open("solution.py", "w", encoding="utf-8", errors="replace") as file:
                file.write(source)
            exec(compile(source, "solution.py", "exec", dont_inherit=True), module.__dict__)
        except BaseException as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            return {"error": _builtin_name(type(error)), "missing": missing}
        self._printed()
        return {}

    def answer(self, body: bytes) -> bytes:
        """The answer to one request: a value or an exception, text printed, objects changed."""
        request = json.loads(body.decode())
        born = dict(request["born"])
        try:
            decoder = Decoder(request["table"], self._known)
            for node, number in born.items():
                self._shared.put(number, decoder.mutable[node])
            for number, slots in request["sync"]:
                self._shared.change(number, decoder.parts(slots))
            target = self._objects[request["on"]]
            arguments = decoder.parts(request["arguments"])
            keywords = dict(zip(request["names"], decoder.parts(request["values"]), strict=True))
        except Exception as error:
            raise Malformed from error
        reply = self._performed(request["do"], target, request["name"], arguments, keywords)
        for number in born.values():
            self._shared.drop(number)
        try:
            return json.dumps(reply).encode()
        except (ValueError, RecursionError):
            return json.dumps(self._reply("raised", MemoryError(), "")).encode()

    def _performed(
        self, do: str, target: Any, name: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> dict[str, Any]:
        new = self._fresh
        try:
            return self._reply("value", _perform(do, target, name, arguments, keywords), do)
        except BaseException as error:
            self._undo(new)
            return self._reply("raised", error, "")

    def _reply(self, kind: str, value: Any, do: str) -> dict[str, Any]:
        born: list[tuple[int, int]] = []

        def share(container: Any, node: int) -> None:
            held = sys.getrefcount(container)
            self._seen.append(held)
            if do == "get" or (do == "special" and held > self._own[node > 0]):
                self._fresh -= 1
                self._shared.put(self._fresh, container)
                born.append((node, self._fresh))
                if do == "special":
                    self._returned.append(self._fresh)

        self._seen = []
        encoder = Encoder(self._node, self._shared.node, share)
        content = self._raised(encoder, value) if kind == "raised" else encoder.add(value)
        sync = [
            [number, [encoder.add(part) for part in parts]]
            for number, parts in self._shared.changed()
        ]
        classes, self._classes = self._classes, []
        return {
            kind: content,
            "printed": self._printed(),
            "classes": classes,
            "born": born,
            "forget": self._forgotten(),
            "sync": sync,
            "table": encoder.table,
        }

    def _printed(self) -> list[str]:
        """What was written to standard output and to standard error since the last look."""
        return [kept.take() for kept in self._kept]

    def _forgotten(self) -> list[int]:
        """Results returned long ago, which both sides stop to keep alike: comparing takes time."""
        old = []
        while len(self._returned) > _RETURNED:
            old.append(self._returned.popleft())
            self._shared.drop(old[-1])
        return old

    def _undo(self, fresh: int) -> None:
        while self._fresh < fresh:
            self._shared.drop(self._fresh)
            self._fresh += 1
        while self._returned and self._returned[-1] < fresh:
            self._returned.pop()

    def _raised(self, encoder: Encoder, error: BaseException) -> dict[str, Slot]:
        # The error is kept from now on; what its frames hold need not be.
        BaseException.with_traceback(error, None)
        return {
            "error": encoder.add(error),
            "name": type(error).__name__,
            "text": error_text(error),
        }

    def _known(self, node: Node) -> Any:
        tag, number = node
        return self._shared.get(number) if tag == "shared" else self._objects[number]

    def _number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = len(self._objects)
            self._objects[number] = value
            self._numbers[id(value)] = number
        return number

    def _node(self, value: Any) -> Node:
        if isinstance(value, type):
            return ["class", self.describe(value)]
        kind = type(value)
        head = [self._number(value), self.describe(kind)]
        if isinstance(value, BaseException):
            return ["value", *head, error_text(value), list(error_arguments(value))]
        base = plain_base(kind)
        if base is not None and base not in HELD_BASES:
            return ["value", *head, "", [PLAIN_BASES[base](value)]]
        return ["object", *head]

    def describe(self, kind: type) -> int:
        """The number of a class; its description goes along the first time, its bases first."""
        number = self._number(kind)
        if number not in self._described:
            self._described.add(number)
            bases = [_base(self, base) for base in kind.__bases__ if base is not object]
            marks = class_marks(kind, plain_base(kind))
            self._classes.append([number, kind.__name__, str(kind.__module__), bases, marks])
        return number


def _base(program: Program, base: type) -> int | str:
    """A base class: exceptions of Python by name, all others by number."""
    return base.__name__ if ERRORS.get(base.__name__) is base else program.describe(base)


def _perform(
    do: str, target: Any, name: str, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    if do == "get":
        return getattr(target, name)
    if do == "set":
        return setattr(target, name, arguments[0])
    if do == "delete":
        return delattr(target, name)
    if do == "plain":
        return next(
            plain(target) for base, plain in PLAIN_BASES.items() if isinstance(target, base)
        )
    if do == "call":
        return getattr(target, name)(*arguments, **keywords)
    if name == "__call__":
        return target(*arguments, **keywords)
    if name in _OPERATIONS:
        return _OPERATIONS[name](target, *arguments)
    return getattr(type(target), name)(target, *arguments, **keywords)


def _builtin_name(kind: type[BaseException]) -> str:
    """The name of an exception class, or of the nearest of Python's own that it derives from."""
    return next(base.__name__ for base in kind.__mro__ if ERRORS.get(base.__name__) is base)


def serve(stream: Stream) -> None:
    """Load the program, then answer requests until nobody asks."""
    program: Program | None = None
    while True:
        try:
            kind, body = stream.receive()
        except EOFError:
            return
        if kind == LOAD:
            order = json.loads(body)
            program = Program(order["printed"])
            stream.send(LOAD, json.dumps(program.load(order["source"])).encode())
        elif kind == REQUEST and program is not None:
            answer = program.answer(body)
            try:
                stream.send(ANSWER, answer)
            except FrameTooLong:
                stream.send(ANSWER, b'{"too long": true}')
