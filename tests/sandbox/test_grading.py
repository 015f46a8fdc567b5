"""Real pytest judges, outside the jail where it can, and says how it came to its verdict."""

import resource
import textwrap

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.sandbox import Grade, Limits, grade


def graded(solution: str, test: str, **limits: int) -> Grade:
    return grade(textwrap.dedent(solution), textwrap.dedent(test), limits=Limits(**limits))


def assert_passes(grade: Grade, tests: int) -> None:
    assert (grade.verdict, grade.passed, grade.collected) == ("pass", tests, tests), grade
    assert grade.oracle == "outside"


SHAPES = """
    import pytest
    from solution import (
        add,
        twice,
    )

    @pytest.fixture
    def pair():
        return 1, 2

    @pytest.mark.parametrize(("one", "other", "total"), [(1, 2, 3), (0, 0, 0)])
    def test_parametrized(one, other, total):
        assert add(one, other) == total

    def test_with_a_fixture(pair):
        assert add(*pair) == 3

    class TestInAClass:
        def setup_method(self):
            self.number = 5

        def test_method(self):
            assert twice(self.number) == 10

    import unittest

    class Case(unittest.TestCase):
        def test_unittest(self):
            self.assertEqual(add(2, 2), 4)
"""


def test_classes_parameters_fixtures_and_several_imports_work() -> None:
    right = "def add(a, b):\n    return a + b\n\ndef twice(n):\n    return add(n, n)\n"
    assert_passes(graded(right, SHAPES), 5)
    wrong = graded(right.replace("add(n, n)", "n"), SHAPES)
    assert (wrong.verdict, wrong.passed, wrong.failed, wrong.collected) == ("fail", 4, 1, 5)


def test_every_way_to_import_the_solution_works() -> None:
    solution = "def add(a, b):\n    return a + b\n\nLIMIT = 7\nSEEN = []\n"
    assert_passes(
        graded(
            solution,
            """
            import solution
            import solution as renamed
            from solution import *
            from solution import add as plus

            def test_names():
                assert solution.add(1, 2) == renamed.add(1, 2) == add(1, 2) == plus(1, 2) == 3
                assert solution.LIMIT == 7

            def test_missing():
                assert not hasattr(solution, "absent")

            def test_inside_a_function():
                from solution import LIMIT
                assert LIMIT == 7
            """,
        ),
        3,
    )


def test_tests_without_an_import_find_the_names_they_leave_undefined() -> None:
    solution = "def add(a, b):\n    return a + b\n"
    test = """
        from __future__ import annotations

        def test_add():
            assert add(1, 2) == 3
    """
    assert_passes(graded(solution, test), 1)


def test_plain_values_come_back_as_what_they_are() -> None:
    solution = """
        import collections, datetime, decimal, enum, fractions, typing
        def values():
            return [None, True, 3, 1 << 5000, 0.5, float("inf"), 1j, "ä\\udc80", b"\\0",
                    (1, (2,)), {"a": [1]}, {1, 2}, frozenset([3]), range(3), bytearray(b"x")]
        def counted(text): return collections.Counter(text)
        def grouped():
            groups = collections.defaultdict(list)
            groups["a"].append(1)
            return groups
        def queue(): return collections.deque([1, 2])
        def ordered(): return collections.OrderedDict(a=1)
        def half(): return fractions.Fraction(1, 2), decimal.Decimal("0.50")
        def day(): return datetime.date(2024, 2, 29), datetime.timedelta(days=1)
        class Point(typing.NamedTuple):
            x: int
            y: int
        def point(): return Point(1, 2)
        class Level(enum.IntEnum):
            LOW = 1
        def level(): return Level.LOW
        def cyclic():
            items = [1]
            items.append(items)
            return items
    """
    test = """
        import datetime, decimal, fractions, math
        from collections import Counter
        from solution import *

        def test_values():
            expected = [None, True, 3, 1 << 5000, 0.5, float("inf"), 1j, "ä\\udc80", b"\\0",
                        (1, (2,)), {"a": [1]}, {1, 2}, frozenset([3]), range(3), bytearray(b"x")]
            found = values()
            assert found == expected
            assert [type(one) for one in found] == [type(one) for one in expected]

        def test_collections():
            assert counted("aab") == {"a": 2, "b": 1}
            assert counted("aab").most_common(1) == [("a", 2)]
            assert isinstance(counted(""), Counter)
            assert grouped() == {"a": [1]}
            assert list(queue()) == [1, 2]
            assert ordered() == {"a": 1}

        def test_numbers_and_days():
            assert half() == (fractions.Fraction(1, 2), decimal.Decimal("0.5"))
            assert day() == (datetime.date(2024, 2, 29), datetime.timedelta(days=1))

        def test_derived_from_plain():
            assert point() == (1, 2)
            assert not point() == (1, 3)
            assert point().x == 1
            x, y = point()
            assert (x, y) == (1, 2)
            assert level() == 1
            assert level() < 2
            assert {level(): "low"}[level()] == "low"

        def test_cyclic():
            items = cyclic()
            assert items[1] is items
    """
    assert_passes(graded(solution, test), 5)


OBJECTS = """
    import enum, functools, itertools
    class Node:
        count = 0
        def __init__(self, value, next=None):
            self.value = value
            self.next = next
            self.children = []
            Node.count += 1
        def __repr__(self):
            return f"Node({self.value})"
    class Tree(Node):
        @property
        def size(self):
            return 1 + sum(child.size for child in self.children)
        @staticmethod
        def leaf():
            return Tree(0)
    def reverse(node):
        previous = None
        while node:
            node.next, previous, node = previous, node, node.next
        return previous
    def middle(node):
        return node.next
    @functools.total_ordering
    class Money:
        def __init__(self, cents): self.cents = cents
        def __eq__(self, other): return self.cents == other.cents
        def __lt__(self, other): return self.cents < other.cents
        def __add__(self, other): return Money(self.cents + other.cents)
        def __mul__(self, number): return Money(self.cents * number)
        __rmul__ = __mul__
        def __hash__(self): return hash(self.cents)
        def __bool__(self): return self.cents > 0
    class Shelf:
        def __init__(self): self.items = {}
        def __len__(self): return len(self.items)
        def __getitem__(self, key): return self.items[key]
        def __setitem__(self, key, value): self.items[key] = value
        def __delitem__(self, key): del self.items[key]
        def __iter__(self): return iter(self.items)
        def __contains__(self, key): return key in self.items
    class Color(enum.Enum):
        RED = "red"
        BLUE = "blue"
    def paint(name): return Color(name)
    def squares():
        for number in itertools.count():
            yield number * number
    def adder(amount):
        return lambda number: number + amount
    class Timer:
        def __enter__(self): return self
        def __exit__(self, *_): self.done = True
    QUEUE = []
    def push(item): QUEUE.append(item)
"""


def test_objects_of_the_solution_work_from_afar() -> None:
    test = """
        import copy, itertools
        import pytest
        import solution
        from solution import *

        def test_linked():
            first = Node(1, Node(2, Node(3)))
            second = first.next
            last = reverse(first)
            assert (last.value, last.next.value, last.next.next.value) == (3, 2, 1)
            assert last.next is second
            assert last.next.next.next is None
            first.value = 10
            assert first.value == 10
            assert repr(first) == "Node(10)" and str(first) == "Node(10)"
            with pytest.raises(AttributeError):
                first.absent

        def test_classes():
            tree = Tree(1)
            tree.children.append(Tree(2))
            tree.children[0].children.append(Tree.leaf())
            assert tree.size == 3
            assert isinstance(tree, Tree) and isinstance(tree, Node) and issubclass(Tree, Node)
            assert not isinstance(Node(1), Tree)
            assert type(tree).__name__ == "Tree"
            assert Node.count >= 3

        def test_operators():
            assert Money(1) == Money(1) and Money(1) != Money(2)
            assert Money(1) < Money(2) and max(Money(1), Money(5)).cents == 5
            assert (Money(1) + Money(2)).cents == 3 and (2 * Money(3)).cents == 6
            assert len({Money(1), Money(1)}) == 1
            assert not Money(0) and Money(1)
            assert Money(1) in [Money(2), Money(1)]

        def test_containers():
            shelf = Shelf()
            shelf["a"] = 1
            shelf["b"] = [2]
            del shelf["a"]
            assert len(shelf) == 1 and "b" in shelf and "a" not in shelf
            assert list(shelf) == ["b"] and shelf["b"] == [2]
            with pytest.raises(KeyError):
                shelf["absent"]

        def test_enumerations():
            assert paint("red") is Color.RED and Color.RED.value == "red"
            assert [color.name for color in Color] == ["RED", "BLUE"]
            assert Color["BLUE"] is Color.BLUE

        def test_functions_and_generators():
            assert list(itertools.islice(squares(), 4)) == [0, 1, 4, 9]
            assert next(squares()) == 0
            assert adder(2)(3) == 5
            assert list(map(adder(1), [1, 2])) == [2, 3]
            assert callable(adder) and adder.__name__ == "adder"

        def test_blocks_and_copies():
            with Timer() as timer:
                pass
            assert timer.done
            one = Node(4)
            other = copy.deepcopy(one)
            other.value = 5
            assert one.value == 4

        def test_globals():
            push(1)
            assert solution.QUEUE == [1]
            solution.QUEUE.clear()
            push(2)
            assert QUEUE == [2]
            solution.LIMIT = 3
            assert solution.LIMIT == 3
    """
    assert_passes(graded(OBJECTS, test), 8)


def test_arguments_changed_in_place_are_changed_for_the_tests_too() -> None:
    solution = """
        def swap(items): items[0], items[1] = items[1], items[0]
        def grow(table): table["new"] = [1]; table["old"].append(2)
        def keep(items): return items
        def same(one, other): return one is other
        def discard(items): items.discard(1)
    """
    test = """
        from solution import *

        def test_lists():
            items = [1, [2], 3]
            inner = items[1]
            swap(items)
            assert items == [[2], 1, 3] and items[0] is inner

        def test_dicts():
            table = {"old": [1]}
            grow(table)
            assert table == {"old": [1, 2], "new": [1]}

        def test_identity():
            items = [1]
            assert keep(items) is items
            assert same(items, items) and not same([1], [1])

        def test_sets():
            items = {1, 2}
            discard(items)
            assert items == {2}
    """
    assert_passes(graded(solution, test), 4)


def test_exceptions_arrive_as_what_they_are() -> None:
    solution = """
        import json
        class TooBig(ValueError):
            def __init__(self, size):
                super().__init__(f"{size} is too big")
                self.size = size
        def check(kind):
            if kind == "own": raise TooBig(7)
            if kind == "key": raise KeyError("k")
            if kind == "exit": raise SystemExit(3)
            if kind == "deep": return check("deep")
            if kind == "json": return json.loads("{")
            if kind == "file": open("absent")
            raise ZeroDivisionError("no")
    """
    test = """
        import json
        import pytest
        from solution import TooBig, check

        def test_own():
            with pytest.raises(TooBig, match="7 is too big") as caught:
                check("own")
            assert caught.value.size == 7 and str(caught.value) == "7 is too big"
            with pytest.raises(ValueError):
                check("own")
            assert issubclass(TooBig, ValueError)

        def test_of_python():
            for kind, name in ((KeyError, "key"), (SystemExit, "exit"), (RecursionError, "deep"),
                               (json.JSONDecodeError, "json"), (FileNotFoundError, "file")):
                with pytest.raises(kind):
                    check(name)
            with pytest.raises(SystemExit) as caught:
                check("exit")
            assert caught.value.code == 3

        @pytest.mark.parametrize("kind", ["zero"])
        def test_message(kind):
            try:
                check(kind)
            except ZeroDivisionError as error:
                assert error.args == ("no",)
            else:
                raise AssertionError
    """
    assert_passes(graded(solution, test), 3)


def test_an_exception_that_is_due_and_does_not_come_fails() -> None:
    test = """
        import pytest
        from solution import check

        def test_raises():
            with pytest.raises(ValueError):
                check()
    """
    result = graded("def check(): pass\n", test)
    assert (result.verdict, result.failed) == ("fail", 1)
    assert "an expected exception missing" in result.reason


def test_what_the_solution_prints_is_captured() -> None:
    solution = """
        import sys
        def greet(name):
            print("hello", name)
            sys.stdout.write("bye\\n")
            print("no more", file=sys.stderr)
    """
    test = """
        import contextlib, io
        from solution import greet

        def test_capsys(capsys):
            greet("you")
            assert capsys.readouterr() == ("hello you\\nbye\\n", "no more\\n")

        def test_redirected():
            with contextlib.redirect_stdout(io.StringIO()) as out:
                greet("me")
            assert out.getvalue() == "hello me\\nbye\\n"
    """
    assert_passes(graded(solution, test), 2)


@pytest.mark.parametrize(
    ("solution", "test"),
    [
        (
            "def keep(f, items):\n    return [i for i in items if f(i)]\n",
            "from solution import keep\ndef test_keep():\n"
            "    assert keep(lambda i: i > 1, [1, 2]) == [2]\n",
        ),
        (
            "def ask():\n    return input()\n",
            "from solution import ask\ndef test_ask(monkeypatch):\n"
            "    monkeypatch.setattr('builtins.input', lambda: 'x')\n    assert ask() == 'x'\n",
        ),
        (
            "def size(thing):\n    return len(thing)\n",
            "from solution import size\nclass Thing:\n    def __len__(self):\n        return 3\n"
            "def test_size():\n    assert size(Thing()) == 3\n",
        ),
        (
            "class Base:\n    def run(self):\n        return self.step()\n",
            "from solution import Base\nclass Own(Base):\n    def step(self):\n        return 4\n"
            "def test_own():\n    assert Own().run() == 4\n",
        ),
        (
            "async def soon():\n    return 5\n",
            "import asyncio\nfrom solution import soon\n"
            "def test_soon():\n    assert asyncio.run(soon()) == 5\n",
        ),
        (
            "def upto(n):\n    yield from range(n)\n",
            "from collections.abc import Generator\nfrom solution import upto\n"
            "def test_upto():\n    assert isinstance(upto(2), Generator)\n",
        ),
        (
            "import warnings\ndef old():\n    warnings.warn('old')\n",
            "import pytest\nfrom solution import old\n@pytest.mark.filterwarnings('error')\n"
            "def test_old():\n    with pytest.raises(UserWarning):\n        old()\n",
        ),
        (
            "def load(path):\n    return open(path).read()\n",
            "from solution import load\ndef test_load(tmp_path):\n"
            "    (tmp_path / 'a').write_text('b')\n    assert load(tmp_path / 'a') == 'b'\n",
        ),
    ],
    ids=[
        "function",
        "monkeypatch",
        "object",
        "subclass",
        "coroutine",
        "generator",
        "warning",
        "file",
    ],
)
def test_what_has_no_form_on_the_wire_is_judged_inside(solution: str, test: str) -> None:
    result = grade(solution, test)
    assert (result.verdict, result.oracle, result.passed) == ("pass", "inside", 1), result


def test_a_handle_of_the_solution_never_moves_its_tests_inside() -> None:
    solution = """
        class Everything:
            def __eq__(self, other): return True
        def encode(text): return Everything()
        def decode(code): return Everything()
    """
    test = """
        import copy
        from solution import decode, encode

        def test_round_trip():
            code = copy.deepcopy(encode("a"))
            assert decode(code) == "a"
    """
    result = graded(solution, test)
    assert (result.verdict, result.oracle) == ("fail", "outside")


def test_errors_of_setup_are_counted_apart_and_skipped_tests_do_not_count() -> None:
    test = """
        import pytest
        from solution import one

        @pytest.fixture
        def broken():
            assert one() == 2

        def test_setup(broken):
            pass

        def test_right():
            assert one() == 1

        @pytest.mark.skip
        def test_skipped():
            assert one() == 3
    """
    result = graded("def one():\n    return 1\n", test)
    assert (result.verdict, result.passed, result.failed, result.errors, result.collected) == (
        *("fail", 1, 0, 1),
        3,
    )
    skipping = (
        "import pytest\nfrom solution import one\n@pytest.mark.skip\ndef test_a():\n    one()\n"
    )
    assert graded("def one(): pass\n", skipping).reason == "every test was skipped"


def test_a_fixture_that_is_not_there_is_an_error_of_the_tests() -> None:
    test = "from solution import one\ndef test_one(benchmark):\n    assert one() == 1\n"
    result = graded("def one():\n    return 1\n", test)
    assert result.verdict == "error"
    assert result.reason == "the tests need a fixture the sandbox lacks"


def test_nothing_left_behind_changes_a_later_run() -> None:
    littering = """
        for name in ("conftest.py", "pytest.ini", "sitecustomize.py", "math.py"):
            open(name, "w").write("raise SystemExit(1)")
        import builtins
        builtins.abs = None
        def one(): return 1
    """
    test = "from solution import one\ndef test_one():\n    assert one() == 1\n"
    assert graded(littering, test).verdict == "pass"
    after = graded("def one():\n    import math\n    return int(math.sqrt(len('a')))\n", test)
    assert after.verdict == "pass"


def test_the_hash_seed_is_fixed() -> None:
    solution = "def order():\n    return list({'a', 'b', 'c', 'd', 'e'})\n"
    test = """
        from solution import order

        def test_order():
            assert order() == list({'a', 'b', 'c', 'd', 'e'})
    """
    assert graded(solution, test).verdict == "pass"


def test_an_unknown_isolation_is_bad_input() -> None:
    with pytest.raises(BadInput, match="'chroot' is unknown"):
        grade("", "", isolation="chroot")


def test_a_list_that_the_solution_keeps_is_the_same_list_for_the_tests() -> None:
    solution = """
        import functools
        class Shelf:
            def __init__(self): self.rows = {"a": [1]}
            def kept(self): return self.rows
            def row(self): return self.rows["a"]
            def pair(self): return (0, self.rows["a"])
            def copied(self): return {key: list(row) for key, row in self.rows.items()}
        @functools.cache
        def once(): return []
    """
    test = """
        from solution import Shelf, once

        def test_kept():
            shelf = Shelf()
            shelf.kept()["b"] = [2]
            assert shelf.kept() == {"a": [1], "b": [2]}
            shelf.row().append(3)
            shelf.pair()[1].append(4)
            assert shelf.row() == [1, 3, 4] and shelf.row() is shelf.row()

        def test_copied():
            shelf = Shelf()
            shelf.copied().clear()
            shelf.copied()["a"].append(2)
            assert shelf.copied() == {"a": [1]}

        def test_cached():
            once().append(1)
            assert once() == [1]

        def test_many():
            shelves = [Shelf() for _ in range(100)]
            rows = [shelf.row() for shelf in shelves]
            rows[-1].append(9)
            assert shelves[-1].row() == [1, 9]
    """
    assert_passes(graded(solution, test), 4)


def test_arguments_may_have_any_name() -> None:
    solution = """
        class Person:
            def __init__(this, name, self=1, do=2): this.parts = (name, self, do)
            def tell(this, name, cls=3): return name, cls
        def keep(**named): return named
    """
    test = """
        from solution import Person, keep

        def test_class():
            assert Person(name="Ada", self=4, do=5).parts == ("Ada", 4, 5)

        def test_method():
            assert Person("Ada").tell(name="Eve", cls=6) == ("Eve", 6)

        def test_function():
            named = {"name": 1, "do": 2, "self": 3, "target": 4, "arguments": 5, "keywords": 6}
            assert keep(**named) == named
    """
    assert_passes(graded(solution, test), 3)


def test_a_program_that_never_stops_talking_takes_no_memory_of_the_supervisor() -> None:
    solution = """
        import os, threading
        def talk():
            channel = next(number for number in range(3, 64) if is_open(number))
            while True:
                os.write(channel, bytes(1 << 20))
        def is_open(number):
            try:
                os.fstat(number)
            except OSError:
                return False
            return True
        def one():
            threading.Thread(target=talk, daemon=True).start()
            return 1
    """
    test = """
        import time
        from solution import one

        def test_one():
            assert one() == 1
            time.sleep(1.5)
            assert one() == 1
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = graded(solution, test, cpu_seconds=3)
    assert (result.verdict, result.oracle) == ("fail", "outside")
    assert result.reason == "the program broke the rules of its channel"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


def test_a_class_the_tests_name_says_itself_what_its_operators_make_of_plain_values() -> None:
    solution = """
        import typing
        Item = typing.TypeVar("Item")
        class Words(typing.Generic[Item]):
            def __init__(self, words): self.words = words
            def __contains__(self, prefix): return any(w.startswith(prefix) for w in self.words)
            def __iter__(self): return iter(self.words)
            def __mul__(self, number): return Words(self.words * number)
            def __sub__(self, word): return len([w for w in self.words if w != word])
        class Few(Words): pass
        class Range:
            def __init__(self, low): self.low = low
            def __contains__(self, number): return self.low <= number
        def few(): return Few(["one"])
    """
    test = """
        from solution import Range, Words, few

        def test_operators():
            words = Words(["one", "two"])
            assert (words * 2).words == ["one", "two"] * 2 and words - "one" == 1
            assert few() - "one" == 0

        def test_membership():
            assert "tw" in Words(["one", "two"]) and "three" not in Words(["one"])
            assert 3 in Range(2) and 1 not in Range(2)

        def test_generic():
            assert list(Words[str](["one"])) == ["one"]
    """
    assert_passes(graded(solution, test), 3)


def test_an_exception_is_caught_by_any_of_its_bases() -> None:
    solution = """
        class Base(Exception): pass
        class Absent(Base, KeyError): pass
        def find(): raise Absent("x")
    """
    test = """
        import pytest
        from solution import Absent, Base, find

        @pytest.mark.parametrize("kind", [Absent, Base, KeyError, LookupError])
        def test_find(kind):
            with pytest.raises(kind):
                find()
    """
    assert_passes(graded(solution, test), 4)


def test_containers_keep_how_they_fill_and_overflow() -> None:
    solution = """
        import collections
        def groups(): return collections.defaultdict(list, a=[1])
        def scores(): return collections.defaultdict(lambda: 5)
        def last(): return collections.deque([1, 2], maxlen=2)
        def count(tally, word): tally[word] += 1
        def clear(data): data[0] = 0; data.append(9)
    """
    test = """
        from collections import defaultdict, deque
        from solution import clear, count, groups, last, scores

        def test_returned():
            found = groups()
            found["b"].append(2)
            assert found == {"a": [1], "b": [2]}
            assert scores()["any"] == 5
            queue = last()
            queue.append(3)
            assert queue == deque([2, 3], maxlen=2) and queue.maxlen == 2

        def test_handed_over():
            tally = defaultdict(int)
            count(tally, "a")
            assert tally == {"a": 1}
            data = bytearray(b"abc")
            clear(data)
            assert data == bytearray(b"\\0bc\\t")
    """
    assert_passes(graded(solution, test), 2)


def test_what_refines_a_plain_type_is_one_of_its_values() -> None:
    solution = """
        import collections, enum, typing
        Point = collections.namedtuple("Point", "x y")
        class Word(typing.NamedTuple):
            text: str
            count: int
        class Level(enum.IntEnum):
            LOW = 1
            HIGH = 2
        class Mode(str, enum.Enum):
            READ = "r"
        class Meters(float):
            def __add__(self, other): return Meters(float(self) + other)
            def doubled(self): return Meters(self * 2)
        class Table(dict):
            def first(self): return next(iter(self))
        def point(): return Point(1, [2])
        def word(): return Word("a", 3)
        def level(): return Level.LOW
        def mode(): return Mode.READ
        def same(one, other): return one is other
        def table(): return Table(a=1)
        def keys(table): return table.keys()
    """
    test = """
        import json
        from solution import *

        def test_tuples():
            assert isinstance(point(), tuple) and point() == (1, [2]) and hash(word())
            assert point().x == 1 and point()._asdict() == {"x": 1, "y": [2]}
            assert point()._replace(x=5) == (5, [2]) and Point._fields == ("x", "y")
            assert (word().text, word().count) == ("a", 3) and word() + (1,) == ("a", 3, 1)
            assert repr(word()) == "Word(text='a', count=3)"
            assert not point() == (1, [3])

        def test_numbers():
            assert isinstance(level(), int) and level() == 1 and level() + 1 == 2
            assert level() is Level.LOW and [level().name, level().value] == ["LOW", 1]
            assert sorted([Level.HIGH, Level.LOW])[0] is Level.LOW and max(Level.LOW, 2) == 2
            assert ["a", "b"][level()] == "b" and same(level(), Level.LOW)
            assert isinstance(Meters(2.0) + 1, Meters) and Meters(2.0).doubled() == 4.0

        def test_text():
            assert isinstance(mode(), str) and mode() == "r" and mode().upper() == "R"
            assert "a" + mode() == "ar" and "".join([mode(), "x"]) == "rx" and {mode(): 1}["r"]
            assert json.dumps([mode(), word()]) == '["r", ["a", 3]]'

        def test_held():
            assert isinstance(table(), dict) and isinstance(table(), Table)
            assert table() == {"a": 1} and dict(table()) == {"a": 1} and table().first() == "a"
            assert keys({"a": 1}) == {"a"} and keys({"a": 1}) == {"a": 2}.keys()
    """
    assert_passes(graded(solution, test), 4)


def test_exceptions_may_be_values() -> None:
    solution = """
        class Refused(Exception):
            def __init__(self, why, code):
                super().__init__(f"{why} ({code})")
                self.code = code
        def divide(one, other):
            try:
                return one / other, None
            except ZeroDivisionError as error:
                return None, error
        def refuse(): return Refused("no", 3)
        def fail(): raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])
        def leave(): raise KeyboardInterrupt
    """
    test = """
        import pytest
        from solution import Refused, divide, fail, leave, refuse

        def test_returned():
            value, error = divide(1, 0)
            assert value is None and isinstance(error, ZeroDivisionError)
            assert error.args == ("division by zero",) and str(error) == "division by zero"

        def test_own():
            for error in (refuse(), Refused("no", 3)):
                assert isinstance(error, Refused) and str(error) == "no (3)" and error.code == 3
            with pytest.raises(Refused):
                raise Refused("no", 4)

        def test_group():
            with pytest.raises(ExceptionGroup) as caught:
                fail()
            assert [type(error) for error in caught.value.exceptions] == [ValueError, KeyError]

        def test_base():
            with pytest.raises(KeyboardInterrupt):
                leave()
    """
    assert_passes(graded(solution, test), 4)
