"""Stand-ins, made of what a program says of its classes and objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .special import ARITHMETIC, ORDER
from .standins import METHODS, Asking, StandIn, StandInType, get, hidden
from .wire import ERRORS, Node, Unmarshallable

# Plain types that a class of the program may refine: its instances are values here,
_VALUES: dict[str, type] = {kind.__name__: kind for kind in (int, float, str, tuple, frozenset)}
# or stay with the program.
_HELD: dict[str, type] = {kind.__name__: kind for kind in (list, dict, set)}


def _text(self: Any) -> str:
    return str(self.__dict__.get("_discernmem_text", ""))


def made_class(
    link: Asking, number: int, name: str, parents: list[type], marks: frozenset[str]
) -> type:
    """A class to stand for one of the program's, exceptions included."""
    errors = [parent for parent in parents if issubclass(parent, BaseException)]
    body: dict[str, Any] = {"__module__": "solution"}
    if errors:
        body |= {"__getattr__": get, "__str__": _text, "_discernmem_number": -1}
        return StandInType(name, tuple(errors), body, link, number)
    plain = next((mark[6:] for mark in marks if mark.startswith("plain ")), "")
    if plain in _VALUES:
        bases = tuple(parent for parent in parents if issubclass(parent, _VALUES[plain]))
        body |= _value_body(_VALUES[plain], marks)
        if not bases:
            bases, body["_discernmem_named"] = (_VALUES[plain],), False
        return StandInType(name, bases, body, link, number)
    bases = tuple(parent for parent in parents if issubclass(parent, StandIn)) or (StandIn,)
    body |= {"__slots__": (), "_discernmem_marks": marks, "_discernmem_plain": plain}
    if plain in _HELD:
        # So that isinstance(result, dict) holds of an object whose class derives from dict.
        body["__class__"] = property(lambda _: _HELD[plain])
    body |= {key: METHODS[key] for key in METHODS if key in marks}
    if "unhashable" in marks:
        body["__hash__"] = None
    else:
        body["__hash__"] = StandIn.__hash__
    return StandInType(name, bases, body, link, number)


def _value_body(base: type, marks: frozenset[str]) -> dict[str, Any]:
    """What a class whose instances are plain values has of its own; equality is the value's."""
    compared = ("__eq__", "__hash__", *ORDER)
    body: dict[str, Any] = {
        key: METHODS[key] for key in METHODS if key in marks and key not in compared
    }
    body |= {key: _override(base, key) for key in ARITHMETIC if key in marks}
    body |= {key: property(_getter(key)) for key in marks if not hidden(key) and key in dir(base)}
    return body | {
        "__getattr__": get,
        "__setattr__": StandIn.__setattr__,
        "__delattr__": StandIn.__delattr__,
        "__copy__": StandIn.__copy__,
        "__deepcopy__": StandIn.__deepcopy__,
    }


def _override(base: type, name: str) -> Callable[..., Any]:
    asked = METHODS[name]

    def method(self: Any, /, *operands: Any) -> Any:
        if self._discernmem_named:
            return asked(self, *operands)
        own: Any = getattr(base, name, None)
        return NotImplemented if own is None else own(self, *operands)

    return method


def _getter(name: str) -> Callable[[Any], Any]:
    return lambda self: get(self, name)


def named(kind: StandInType) -> None:
    """Note that the tests know this class, and with it those derived from it."""
    type.__setattr__(kind, "_discernmem_named", True)


def made_object(kind: Any, number: int) -> Any:
    """An instance of such a class; raises TypeError for any other class."""
    if not isinstance(kind, StandInType):
        raise TypeError("no stand-in class")
    plain: Any = kind  # its own __new__, past the metaclass, whose call would ask the program
    made = plain.__new__(plain)
    object.__setattr__(made, "_discernmem_number", number)
    return made


def made_value(kind: Any, number: int, text: str, parts: list[Any]) -> Any:
    """An exception with its arguments, or an instance of a class that refines a plain type.

    Args:
        kind: An exception class, or a stand-in class.
        number: The program's object.
        text: What an exception says.
        parts: The arguments of an exception, or the one plain value.

    Raises:
        TypeError: The class is of another kind, or the value not of its type.
    """
    if not isinstance(kind, type):
        raise TypeError("no class")
    if issubclass(kind, BaseException):
        return _made_error(kind, number, text, tuple(parts))
    (value,) = parts
    base = next((base for base in _VALUES.values() if issubclass(kind, base)), None)
    if base is None or not isinstance(kind, StandInType) or type(value) is not base:
        raise TypeError("no refined value")
    plain: Any = base
    made = plain.__new__(kind, value)
    vars(made)["_discernmem_number"] = number
    return made


def _made_error(
    kind: type[BaseException], number: int, text: str, arguments: tuple[Any, ...]
) -> BaseException:
    if ERRORS.get(kind.__name__) is kind:
        try:
            error = kind(*arguments)
        except TypeError:
            error = kind.__new__(kind, *arguments)
    else:
        error = kind.__new__(kind, *arguments)
    error.args = arguments
    if isinstance(kind, StandInType):
        vars(error)["_discernmem_number"] = number
        vars(error)["_discernmem_text"] = text
    return error


def reference(value: Any) -> Node:
    """How to refer to a stand-in on the wire; the `other` hook of an encoder."""
    if isinstance(value, StandInType):
        return ["object", value._discernmem_class]
    if isinstance(type(value), StandInType):
        return ["object", value._discernmem_number]
    raise Unmarshallable(type(value).__name__)
