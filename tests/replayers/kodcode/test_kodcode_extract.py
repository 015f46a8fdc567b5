"""Which part of a reply is the program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.benchmarks.kodcode.extract import program

GOOD = "def double(n):\n    return 2 * n\n"
OTHER = "def double(n):\n    return n\n"
USE = "print(double(4))\n"


def fenced(code: str, language: str = "python", fence: str = "```") -> str:
    return f"{fence}{language}\n{code}{fence}\n"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (fenced(GOOD), GOOD),
        (f"Here it is.\n\n{fenced(GOOD)}\nDone.", GOOD),
        (fenced(GOOD, "Python"), GOOD),
        (fenced(GOOD, "py"), GOOD),
        (fenced(GOOD, "python3"), GOOD),
        (fenced(GOOD, " python title=x"), GOOD),
        (fenced(GOOD, fence="````"), GOOD),
        (fenced(GOOD, fence="~~~"), GOOD),
        ("Here it is: " + fenced(GOOD), GOOD),
        (fenced(GOOD).replace("\n", "\r\n"), GOOD),
        (f"1. code:\n\n    ```python\n    {GOOD.replace(chr(10), chr(10) + '    ')}```\n", GOOD),
    ],
)
def test_a_python_block_is_the_program(reply: str, code: str) -> None:
    assert program(reply, ["double"]) == code


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (fenced(OTHER) + "Better:\n" + fenced(GOOD), GOOD),
        (fenced(GOOD) + "Then:\n" + fenced(USE), GOOD),
        (fenced(USE) + fenced(USE + USE), USE + USE),
        (fenced(GOOD) + fenced("$ run it\n", "sh"), GOOD),
        (fenced(OTHER, "") + fenced(GOOD), GOOD),
        (fenced(GOOD) + fenced(OTHER, ""), GOOD),
        (fenced(GOOD) + "```python\n" + OTHER, GOOD),
        (fenced(GOOD) + OTHER, GOOD),
    ],
)
def test_of_several_blocks_the_last_one_that_defines_the_name_counts(reply: str, code: str) -> None:
    assert program(reply, ["double"]) == code


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (fenced(GOOD, ""), GOOD),
        (fenced(OTHER, "") + fenced(GOOD, "text"), GOOD),
        ("Sure:\n```python\n" + GOOD, GOOD + "\n"),
        (fenced(USE) + "```python\n" + GOOD, GOOD + "\n"),
        (fenced("a plan\n", "text") + "```python\n" + GOOD, GOOD + "\n"),
        (fenced(USE) + fenced(GOOD, ""), GOOD),
        (f"```python\n{GOOD}``` That is all.\nDone.", GOOD + "\n"),
        (f"```python\n{GOOD.rstrip()}```\nDone.", GOOD),
        (GOOD, GOOD),
        ("import math\n\n" + GOOD, "import math\n\n" + GOOD),
        ("double = lambda n: 2 * n", "double = lambda n: 2 * n"),
        ("double: object = abs", "double: object = abs"),
        ("class double:\n    pass", "class double:\n    pass"),
        ("async def double(n): ...", "async def double(n): ..."),
    ],
)
def test_without_a_complete_python_block_the_rest_is_looked_through(reply: str, code: str) -> None:
    assert program(reply, ["double"]) == code


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I agree.",
        "The function double(n) returns 2 * n.",
        "double == 2",
        "```python\nprint('hi')",
        "def doubled(n):\n    return 2 * n",
        "    def double(n): ...",
        "```python\n\n```",
        "double: what it does\nand more\nx = 1",
    ],
)
def test_prose_is_no_program(reply: str) -> None:
    assert program(reply, ["double"]) is None


def test_a_fence_in_a_docstring_does_not_end_the_block() -> None:
    shown = "    ```\n    double(2)\n    ```\n"
    code = f'def double(n):\n    """Twice.\n\n{shown}    """\n    return 2 * n\n'
    assert program(fenced(code), ["double"]) == code


def test_a_longer_fence_holds_a_shorter_one() -> None:
    code = '"""\n```\n"""\n' + GOOD
    assert program(fenced(code, fence="````"), ["double"]) == code


def test_any_definition_will_do_where_no_name_is_known() -> None:
    assert program(GOOD, []) == GOOD
    assert program("I agree.", []) is None
    assert program(fenced(USE), []) == USE


@given(st.text(alphabet="`~ \n\tdef double()=:python\r\\", max_size=80))
def test_a_program_is_a_part_of_its_reply(reply: str) -> None:
    code = program(reply, ["double"])
    assert code is None or code.strip()
    assert all(line.strip() in reply for line in (code or "").split("\n"))


@pytest.mark.parametrize("end", ["", "`", "\n=", "\n```"])
@pytest.mark.parametrize(
    "part", ["`", "~", " ", "```\n", "``` ", "def ", "double ", "double:", "\n"]
)
def test_a_huge_reply_is_searched_in_one_go(part: str, end: str) -> None:
    """Searched twice from every position, the longest of these would take hours."""
    assert program(part * 100_000 + end, ["double"]) is None
