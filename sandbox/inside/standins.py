"""Stand-ins, in the jail of the tests, for what the program under judgement made.

The tests are trusted and decide here: a stand-in is never equal to a plain value because the
program says so, and the program cannot swallow a failed assertion. An object of a class that the
tests never named is not asked what it makes of a plain value of theirs either: `abs(result - 3.5)`
would leave the verdict to it. Everything else is asked of the program.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from .special import ARITHMETIC, ORDER, PLAIN
from .wire import ERRORS


class NeedsInside(BaseException):
    """The tests hand over, or derive, something that has no form on the wire."""


class Asking(Protocol):
    """How a stand-in reaches the program."""

    def request(
        self,
        do: str,
        target: int,
        name: str,
        arguments: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        """Have something done to an object of the program."""

    def cannot(self, what: str) -> NoReturn:
        """Tell the supervisor that the tests must run inside."""


def get(self: Any, name: str) -> Any:
    """An attribute that the program's object has; raises AttributeError for a special one."""
    if name.startswith("_discernmem") or (
        hidden(name) and name not in ("__name__", "__qualname__")
    ):
        raise AttributeError(name)
    return _ask(self, "get", name)


def _ask(self: Any, do: str, name: str, /, *arguments: Any, **keywords: Any) -> Any:
    return self._discernmem_link.request(do, self._discernmem_number, name, arguments, keywords)


def hidden(name: str) -> bool:
    """Whether Python gives a name its meaning."""
    return name.startswith("__") and name.endswith("__")


class StandInType(type):
    """The class of the stand-ins for the program's classes."""

    _discernmem_link: Asking
    _discernmem_class: int

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        body: dict[str, Any],
        link: Asking | None = None,
        number: int = -1,
    ) -> StandInType:
        """Make a class for the link; one that the tests derive sends them inside."""
        if link is None and bases:
            base: Any = next(base for base in bases if isinstance(base, StandInType))
            base._discernmem_link.cannot(f"a class derived from {base.__name__}")
        made = super().__new__(cls, name, bases, body)
        type.__setattr__(made, "_discernmem_link", link)
        type.__setattr__(made, "_discernmem_class", number)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], *_: Any) -> None:
        super().__init__(name, bases, body)

    def _ask(cls, do: str, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        return cls._discernmem_link.request(do, cls._discernmem_class, name, arguments, keywords)

    def __call__(cls, /, *arguments: Any, **keywords: Any) -> Any:
        """Have the program make an object."""
        return cls._ask("special", "__call__", *arguments, **keywords)

    def __getattr__(cls, name: str) -> Any:
        if hidden(name) or name.startswith("_discernmem"):
            raise AttributeError(name)
        return cls._ask("get", name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._ask("set", name, value)

    def __iter__(cls) -> Any:
        return cls._ask("special", "__iter__")

    def __len__(cls) -> Any:
        return cls._ask("special", "__len__")

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._ask("special", "__getitem__", key)

    def __contains__(cls, member: Any) -> Any:
        return cls._ask("special", "__contains__", member)


class StandIn(metaclass=StandInType):
    """One object of the program."""

    __slots__ = ("_discernmem_number",)

    _discernmem_number: int
    _discernmem_link: Asking
    _discernmem_marks: frozenset[str] = frozenset()
    _discernmem_plain = ""
    _discernmem_named = False

    __getattr__ = get

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "set", name, value)

    def __delattr__(self, name: str) -> None:
        _ask(self, "delete", name)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, StandIn):
            custom = "__eq__" in self._discernmem_marks
            return _ask(self, "special", "__eq__", other) if custom else self is other
        if self._discernmem_plain:
            return _ask(self, "plain", "") == other
        return NotImplemented

    def __hash__(self) -> int:
        if "__hash__" in self._discernmem_marks:
            return hash(_ask(self, "special", "__hash__"))
        return object.__hash__(self)

    def __copy__(self) -> Any:
        return _ask(self, "special", "__copy__")

    def __deepcopy__(self, memo: Any) -> Any:
        return _ask(self, "special", "__deepcopy__")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the solution cannot be pickled")


def _special(name: str) -> Callable[..., Any]:
    def method(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
        return _ask(self, "special", name, *arguments, **keywords)

    return method


def _arithmetic(name: str) -> Callable[..., Any]:
    def method(self: Any, /, *operands: Any) -> Any:
        told = all(isinstance(type(operand), StandInType) for operand in operands)
        if told or self._discernmem_named:
            return _ask(self, "special", name, *operands)
        if self._discernmem_plain and hasattr(plain := _ask(self, "plain", ""), name):
            return getattr(plain, name)(*operands)
        return NotImplemented

    return method


def _ordering(name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, StandIn):
            return _ask(self, "special", name, other)
        if self._discernmem_plain:
            return getattr(_ask(self, "plain", ""), name)(other)
        return NotImplemented

    return method


def _contains(self: Any, member: Any) -> Any:
    if self._discernmem_named or isinstance(member, StandIn):
        return _ask(self, "special", "__contains__", member)
    return any(item is member or item == member for item in self)


def _exit(self: Any, kind: type[BaseException] | None, *_: Any) -> Any:
    """Leave a block; the program learns the kind of an exception, and may not swallow a verdict."""
    if kind is None:
        return _ask(self, "special", "__exit__", None, None, None)
    known = kind if ERRORS.get(kind.__name__) is kind else Exception
    swallowed = _ask(self, "special", "__exit__", known, None, None)
    return issubclass(kind, Exception) and not issubclass(kind, AssertionError) and swallowed


METHODS: dict[str, Callable[..., Any]] = (
    {name: _special(name) for name in PLAIN}
    | {name: _arithmetic(name) for name in ARITHMETIC}
    | {name: _ordering(name) for name in ORDER}
    | {"__contains__": _contains, "__exit__": _exit}
)


class Solution(types.ModuleType):
    """The module `solution`; each name is looked up in the program when the tests use it."""

    __all__: tuple[str, ...] = ()

    def __init__(self, link: Asking) -> None:
        super().__init__("solution")
        self.__dict__["_discernmem_link"] = link

    def __getattr__(self, name: str) -> Any:
        if hidden(name):
            raise AttributeError(name)
        return self.__dict__["_discernmem_link"].request("get", 0, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hidden(name):
            super().__setattr__(name, value)
        else:
            self.__dict__["_discernmem_link"].request("set", 0, name, (value,))
