"""What hidden tests need of the solution, read from their text, before anything of it runs."""

from __future__ import annotations

import ast
import builtins
import symtable
import sys

from attrs import frozen

UNUSED = "the tests never use the solution"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What reaches into the process of the solution; the tests must then run where the solution runs.
_MODULES = _words(
    """asyncio builtins concurrent ctypes dataclasses gc importlib inspect linecache logging mock
    multiprocessing os pathlib pickle resource shelve shutil signal socket sqlite3 subprocess
    tempfile threading tracemalloc traceback types unittest.mock warnings weakref"""
)
_FIXTURES = _words(
    "monkeypatch mocker caplog recwarn tmp_path tmp_path_factory tmpdir capfd capfdbinary"
)
_CALLS = _words("open exec eval vars dir globals compile breakpoint __import__")
_ATTRIBUTES = {
    "sys": _words(
        """stdin argv modules path setrecursionlimit getrecursionlimit getsizeof getrefcount
        settrace setprofile _getframe"""
    ),
    "random": _words("seed setstate getstate"),
    "pytest": _words("warns deprecated_call MonkeyPatch"),
    "collections.abc": _words("Generator"),
    "typing": _words("Generator"),
}
# Left undefined by tests that bring their own copy of the solution, but not of its imports.
_HINTS = _words("Any Callable Dict List Optional Tuple Union")
_DUNDERS = _words("__init__ __name__ __class__ __main__ __len__ __str__ __repr__ __eq__")


@frozen
class Reading:
    """What the text of the tests tells.

    Attributes:
        text: The tests, with the names they leave undefined taken from the solution.
        inside: Why they must run in the solution's own jail; empty if they need not.
        trouble: Why they cannot run at all, a kind; empty if they can.
    """

    text: str
    inside: str = ""
    trouble: str = ""


def read_tests(test: str) -> Reading:
    """Read a hidden pytest module."""
    try:
        tree = ast.parse(test)
        names = _undefined(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Reading(test, trouble=f"{type(error).__name__} in the tests")
    imports = any("solution" in _imported(node) for node in ast.walk(tree))
    if not imports and _HINTS.issuperset(names):
        return Reading(test, trouble=UNUSED)
    return Reading(_completed(test, tree, names), inside=_reach(tree))


def foreign_modules(solution: str) -> list[str]:
    """Modules outside the standard library that a solution imports; none if it does not parse."""
    try:
        tree = ast.parse(solution)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in _imported(node)
        if name and name.partition(".")[0] not in sys.stdlib_module_names
    }
    return sorted(found - {"solution"})


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return []


def _undefined(test: str) -> list[str]:
    """Global names the tests use and nowhere bind, builtins aside."""
    top = symtable.symtable(test, "test", "exec")
    used: set[str] = set()
    bound: set[str] = set(dir(builtins))
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            outermost = table is top or symbol.is_declared_global()
            if outermost and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                used.add(symbol.get_name())
    return sorted(name for name in used - bound if not name.startswith("__"))


def _completed(test: str, tree: ast.Module, names: list[str]) -> str:
    """The tests with a first line that takes the undefined names from the solution, if it has them.

    Tests written to follow the solution in one file, and those that import everything by a star,
    find their names this way, and a solution cannot slip in others, such as its own `len`.
    """
    if not names:
        return test
    line = (
        "import solution as _solution; globals().update({_name: getattr(_solution, _name) "
        f"for _name in {names!r} if hasattr(_solution, _name)}})"
    )
    after = max(
        (
            node.end_lineno or 0
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ),
        default=0,
    )
    lines = test.split("\n")
    return "\n".join([*lines[:after], line, *lines[after:]])


def _reach(tree: ast.Module) -> str:
    """The first thing in the tests that reaches into the solution's process."""
    for node in ast.walk(tree):
        reached = _reached(node)
        if reached:
            return f"the tests use {reached}"
    return ""


def _reached(node: ast.AST) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            names = [alias.name for alias in node.names]
            for module in _imported(node):
                if _MODULES & {module, module.partition(".")[0]}:
                    return module
                if isinstance(node, ast.ImportFrom):
                    inner = _ATTRIBUTES.get(module, frozenset()).intersection(names)
                    inner |= {name for name in names if f"{module}.{name}" in _MODULES}
                    return next((f"{module}.{name}" for name in sorted(inner)), "")
        case ast.arg(arg=name) if name in _FIXTURES:
            return name
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            return name
        case ast.AsyncFunctionDef() | ast.Await():
            return "coroutines"
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _ATTRIBUTES.get(
            module, ()
        ):
            return f"{module}.{name}"
        case ast.Attribute(attr="filterwarnings" | "Generator" as name):
            return name
        case ast.Attribute(attr=name) if name.startswith("__") and name not in _DUNDERS:
            return name
    return ""
