"""Values as plain JSON, and back, without ever running code that came with them.

A message holds a table of nodes, so depth costs no recursion, shared objects stay shared and cycles
are kept. A *slot* is how a value is referred to: None, booleans, text, floats and small integers
stand for themselves, everything else is `[n]`, the n-th node. A node is `[tag, parts…]`. Only exact
types travel; what has another type is offered to the `other` hook of the encoder, which answers
with a node of its own or raises `Unmarshallable`.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import fractions
from collections.abc import Callable, Iterable
from typing import Any

Slot = Any
Node = list[Any]

_SMALL = 1 << 62
_SCALARS = (type(None), bool, str, float)
_PLAIN = (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple, object)
ERRORS: dict[str, type[BaseException]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
TYPES: dict[str, type] = {kind.__name__: kind for kind in _PLAIN} | ERRORS

# Mutable containers: made empty first and filled last, so that anything may refer to them.
# A node holds what follows the tag here, besides the parts: a deque's length, a default's factory.
_MAKERS: dict[str, Callable[..., Any]] = {
    "list": list,
    "dict": dict,
    "set": set,
    "bytearray": bytearray,
    "deque": lambda most=None: collections.deque(maxlen=most),
    "Counter": collections.Counter,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": lambda _=None: collections.defaultdict(),
}
_LENGTHS = {"deque": 3, "defaultdict": 3, "value": 5}
MUTABLE = {type(make()): tag for tag, make in _MAKERS.items()}
_LEAVES: dict[type, Callable[[Any], Node]] = {
    bytes: lambda value: ["bytes", value.hex()],
    complex: lambda value: ["complex", value.real, value.imag],
    range: lambda value: ["range", hex(value.start), hex(value.stop), hex(value.step)],
    decimal.Decimal: lambda value: ["Decimal", str(value)],
    fractions.Fraction: lambda value: ["Fraction", hex(value.numerator), hex(value.denominator)],
    datetime.date: lambda value: ["date", value.isoformat()],
    datetime.time: lambda value: ["time", value.isoformat(), value.fold],
    datetime.datetime: lambda value: ["datetime", value.isoformat(), value.fold],
    datetime.timedelta: lambda value: ["timedelta", value.days, value.seconds, value.microseconds],
}
_READERS: dict[str, Callable[..., Any]] = {
    "int": lambda digits: int(digits, 16),
    "bytes": bytes.fromhex,
    "complex": complex,
    "range": lambda *parts: range(*(int(part, 16) for part in parts)),
    "Decimal": decimal.Decimal,
    "Fraction": lambda top, bottom: fractions.Fraction(int(top, 16), int(bottom, 16)),
    "date": datetime.date.fromisoformat,
    "time": lambda text, fold: datetime.time.fromisoformat(text).replace(fold=fold),
    "datetime": lambda text, fold: datetime.datetime.fromisoformat(text).replace(fold=fold),
    "timedelta": datetime.timedelta,
    "type": TYPES.__getitem__,
    "NotImplemented": lambda: NotImplemented,
}
_TYPE_IDS = {id(kind): name for name, kind in TYPES.items()}


class Unmarshallable(Exception):
    """A value has no form on the wire; the text names its type."""


class Malformed(Exception):
    """A message does not say what a message may say."""


def contents(container: Any) -> list[Any]:
    """The parts of a mutable container, in a list; keys and values alternate."""
    if isinstance(container, dict):
        return [part for pair in container.items() for part in pair]
    return list(container)


def fill(container: Any, parts: list[Any]) -> None:
    """Make these the parts of a container, in place."""
    container.clear()
    if isinstance(container, dict):
        # Counter.update would count; item by item every mapping means the same.
        for key, value in zip(parts[::2], parts[1::2], strict=True):
            container[key] = value
    elif isinstance(container, set):
        container.update(parts)
    else:
        container.extend(parts)


class Encoder:
    """Writes one message.

    Args:
        other: Node for an object of any other type, or raises Unmarshallable. The last item of a
            node tagged `value` is a list of what goes along with the object, as it is.
        known: Node for a mutable container the other side has already, else None.
        born: Told of each mutable container that is new to the other side, and its node's number.
    """

    def __init__(
        self,
        other: Callable[[Any], Node],
        known: Callable[[Any], Node | None] = lambda _: None,
        born: Callable[[Any, int], None] = lambda *_: None,
    ) -> None:
        self.table: list[Node] = []
        self._other = other
        self._known = known
        self._born = born
        self._seen: dict[int, Slot] = {}
        self._alive: list[Any] = []
        self._open: list[tuple[Node, Iterable[Any]]] = []

    def add(self, value: Any) -> Slot:
        """The slot of a value, its nodes added to the table."""
        slot = self._slot(value)
        while self._open:
            node, parts = self._open.pop()
            node.append([self._slot(part) for part in parts])
        return slot

    def _slot(self, value: Any) -> Slot:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is int:
            return value if -_SMALL < value < _SMALL else self._node(["int", hex(value)])
        seen = self._seen.get(id(value))
        if seen is not None:
            return seen
        slot = self._compound(kind, value)
        self._seen[id(value)] = slot
        self._alive.append(value)
        return slot

    def _compound(self, kind: type, value: Any) -> Slot:
        if kind in MUTABLE:
            known = self._known(value)
            if known is not None:
                return self._node(known)
            node: Node = [MUTABLE[kind]]
            if kind is collections.deque:
                node.append(value.maxlen)
            if kind is collections.defaultdict:
                node.append(self._slot(value.default_factory))
            self._born(value, len(self.table))
            return self._container(node, contents(value))
        if kind is tuple or kind is frozenset:
            return self._container([kind.__name__], list(value))
        if kind in _LEAVES:
            return self._node(_LEAVES[kind](value))
        if kind is type and id(value) in _TYPE_IDS:
            return self._node(["type", _TYPE_IDS[id(value)]])
        if value is NotImplemented:
            return self._node(["NotImplemented"])
        node = self._other(value)
        return self._container(node, node.pop()) if node[0] == "value" else self._node(node)

    def _container(self, node: Node, parts: Iterable[Any]) -> Slot:
        self._open.append((node, parts))
        return self._node(node)

    def _node(self, node: Node) -> Slot:
        self.table.append(node)
        return [len(self.table) - 1]


class Decoder:
    """Reads one message; only makes objects of the types above, and what `other` makes.

    Args:
        table: The nodes.
        other: Object for a node with any other tag; raises Malformed for one it does not know.

    Raises:
        Malformed: The table is not one an encoder writes.
    """

    def __init__(self, table: Any, other: Callable[[Node], Any]) -> None:
        if type(table) is not list or not all(
            type(node) is list and node and type(node[0]) is str for node in table
        ):
            raise Malformed("no table of nodes")
        self._table: list[Node] = table
        self._other = other
        self._made: dict[int, Any] = {
            number: _empty(node) for number, node in enumerate(table) if node[0] in _MAKERS
        }
        mutable = list(self._made.items())
        for number in range(len(table)):
            self._make(number)
        for number, container in mutable:
            try:
                fill(container, self.parts(self._parts_of(number)))
                if type(container) is collections.defaultdict:
                    container.default_factory = self.value(table[number][1])
            except (TypeError, ValueError, OverflowError) as error:
                raise Malformed(f"a container cannot be filled: {type(error).__name__}") from None
        self.mutable = dict(mutable)

    def value(self, slot: Slot) -> Any:
        """The object a slot stands for."""
        if type(slot) in _SCALARS or type(slot) is int:
            return slot
        number = self._number(slot)
        return self._made[number]

    def parts(self, slots: Any) -> list[Any]:
        """The objects of a list of slots."""
        if type(slots) is not list:
            raise Malformed("no list of slots")
        return [self.value(slot) for slot in slots]

    def _number(self, slot: Slot) -> int:
        if type(slot) is list and len(slot) == 1 and type(slot[0]) is int:
            number: int = slot[0]
            if 0 <= number < len(self._table):
                return number
        raise Malformed("no slot")

    def _parts_of(self, number: int) -> list[Slot]:
        node = self._table[number]
        parts: list[Slot] = node[-1]
        if len(node) != _LENGTHS.get(node[0], 2) or type(parts) is not list:
            raise Malformed("a container without parts")
        return parts

    def _make(self, number: int) -> None:
        """Make one immutable object, its parts first; deep nesting costs no recursion."""
        waiting = [number]
        opened: set[int] = set()
        while waiting:
            top = waiting[-1]
            if top in self._made:
                waiting.pop()
                continue
            tag = self._table[top][0]
            if tag not in ("tuple", "frozenset", "value"):
                self._made[top] = self._leaf(self._table[top])
                continue
            slots = self._parts_of(top)
            inner = [self._number(slot) for slot in slots if type(slot) is list]
            missing = [part for part in inner if part not in self._made]
            if not missing:
                try:
                    parts = self.parts(slots)
                    self._made[top] = (
                        self._other([*self._table[top][:-1], parts])
                        if tag == "value"
                        else TYPES[tag](parts)
                    )
                except TypeError:
                    raise Malformed("an element that cannot be one") from None
            elif top in opened:
                raise Malformed("an immutable object inside itself")
            else:
                opened.add(top)
                waiting += missing

    def _leaf(self, node: Node) -> Any:
        reader = _READERS.get(node[0])
        if reader is None:
            return self._other(node)
        try:
            return reader(*node[1:])
        except (TypeError, ValueError, KeyError, ArithmeticError):
            raise Malformed(f"no {node[0]}") from None


def _empty(node: Node) -> Any:
    """The container of a node, without its parts."""
    try:
        return _MAKERS[node[0]](*node[1:-1])
    except (TypeError, ValueError, OverflowError):
        raise Malformed(f"no {node[0]}") from None


def refuse(value: Any) -> Node:
    """The `other` hook of an encoder that lets nothing else through."""
    raise Unmarshallable(type(value).__name__)


def unknown(node: Node) -> Any:
    """The `other` hook of a decoder that lets nothing else through."""
    raise Malformed(f"an unknown node {str(node[0])[:40]}")
