"""From the jail of the tests to the program in another jail; what arrives is data, never code."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

from .frames import ANSWER, INSIDE, REQUEST, FrameTooLong, Stream
from .making import made_class, made_object, made_value, named, reference
from .shared import Shared
from .standins import NeedsInside, StandInType
from .wire import ERRORS, Decoder, Encoder, Malformed, Node, Unmarshallable


class Gone(BaseException):
    """The program has ended or talks nonsense; every further call ends the test that made it."""


class Link:
    """The way to the program.

    Attributes:
        raised: Every exception that came from the program.
        gone: Whether the program has ended.
        used: Whether the tests did more than look up what they import.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._shared = Shared()
        self._objects: dict[int, Any] = {}
        self._fresh = 0
        self.raised: list[BaseException] = []
        self.gone = False
        self.used = False

    def request(
        self,
        do: str,
        target: int,
        name: str,
        arguments: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        """Have something done to an object of the program, and take over all that it changed.

        Raises:
            NeedsInside: An argument has no form on the wire; the supervisor has been told.
            Gone: There is no program any more.
        """
        if self.gone:
            raise Gone
        born: list[tuple[int, int]] = []
        try:
            message = json.dumps(self._message(do, target, name, arguments, keywords or {}, born))
            self._stream.send(REQUEST, message.encode())
            looked_up = do == "get" and target == 0
            self.used = self.used or not looked_up
            value = self._taken()
            stands_in = isinstance(value, StandInType) or isinstance(type(value), StandInType)
            self.used = self.used or not stands_in
            if do == "get" and isinstance(value, StandInType):
                named(value)
            return value
        except Unmarshallable as error:
            self.cannot(str(error))
        except FrameTooLong:
            raise MemoryError("the arguments are too long") from None
        finally:
            for _, number in born:
                self._shared.drop(number)

    def cannot(self, what: str) -> NoReturn:
        """Tell the supervisor that the tests must run inside; it ends this jail."""
        self._stream.send(INSIDE, what.encode())
        raise NeedsInside(what)

    def _message(
        self,
        do: str,
        target: int,
        name: str,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        born: list[tuple[int, int]],
    ) -> dict[str, Any]:
        def share(container: Any, node: int) -> None:
            self._fresh += 1
            self._shared.put(self._fresh, container)
            born.append((node, self._fresh))

        encoder = Encoder(reference, self._shared.node, share)
        changed = self._shared.changed()
        return {
            "do": do,
            "on": target,
            "name": name,
            "sync": [[number, [encoder.add(part) for part in parts]] for number, parts in changed],
            "arguments": [encoder.add(part) for part in arguments],
            "names": list(keywords),
            "values": [encoder.add(part) for part in keywords.values()],
            "born": born,
            "table": encoder.table,
        }

    def _taken(self) -> Any:
        """The value of the answer; raises what the program raised."""
        kind, body = self._stream.receive()
        if kind != ANSWER:
            self.gone = True
            raise Gone
        try:
            reply = json.loads(body)
            if "too long" in reply:
                raise MemoryError("the answer is too long")
            for described in reply["classes"]:
                self._class(*described)
            decoder = Decoder(reply["table"], self._object)
            for number, slots in reply["sync"]:
                self._shared.change(number, decoder.parts(slots))
            for node, number in reply["born"]:
                self._shared.put(number, decoder.mutable[node])
            for number in reply["forget"]:
                self._shared.drop(number)
            printed, complained = map(str, reply["printed"])
            error = None
            if "raised" in reply:
                error = decoder.value(reply["raised"]["error"])
                if not isinstance(error, BaseException):
                    raise Malformed("raised no exception")
            else:
                value = decoder.value(reply["value"])
        except (Malformed, LookupError, ValueError, TypeError, AttributeError, RecursionError):
            self.gone = True
            raise Gone from None
        for file, text in ((sys.stdout, printed), (sys.stderr, complained)):
            if text:
                file.write(text)
        if error is None:
            return value
        self.raised.append(error)
        raise error

    def _class(
        self, number: int, name: str, module: str, bases: list[Any], marks: list[str]
    ) -> None:
        parents = [ERRORS[base] if type(base) is str else self._objects[base] for base in bases]
        real = ERRORS.get(name) if module == "builtins" else _standard_error(str(module), str(name))
        self._objects[number] = real or made_class(
            self, int(number), str(name), parents, frozenset(marks)
        )

    def _object(self, node: Node) -> Any:
        tag, number = node[0], node[1]
        if tag == "shared":
            return self._shared.get(number)
        if tag not in ("object", "class", "value"):
            raise Malformed("an unknown node")
        if number not in self._objects:
            kind = self._objects[node[2]]
            self._objects[number] = (
                made_value(kind, int(number), str(node[3]), node[4])
                if tag == "value"
                else made_object(kind, int(number))
            )
        return self._objects[number]


def _standard_error(module: str, name: str) -> type[BaseException] | None:
    """The exception class of the standard library with this name, if the tests have it loaded.

    Not of unittest: raising its SkipTest would skip the test.
    """
    if module.partition(".")[0] not in sys.stdlib_module_names or module.startswith("unittest"):
        return None
    kind = getattr(sys.modules.get(module), name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else None
