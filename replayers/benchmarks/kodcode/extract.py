"""The program in a team's reply."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

import attrs

# Possessive throughout: no reply, however strange, is searched twice.
_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`]*+")
_FENCE_AFTER_TEXT = re.compile(r"[^`]*+()(`{3,}+)(python3?|py)[ \t]*+", re.IGNORECASE)
_PYTHON = frozenset({"python", "py", "python3"})


@attrs.frozen
class _Block:
    """A fenced block; ``closed`` is false for one that runs to the end of the reply."""

    language: str
    code: str
    closed: bool


def program(reply: str, names: Sequence[str]) -> str | None:
    """The program in a reply, None where there is none.

    Taken is the last complete Python block, else the last complete block of any kind, else what
    follows a fence that was never closed, else the reply itself. Whatever defines a wanted name
    goes before all that defines none, which only shows how to use it; and what stands in no
    complete block must define one.

    Nothing of the reply is parsed here: that is left to the sandbox.

    Args:
        reply: the team's final action.
        names: the names that the program has to define.
    """
    found = _blocks(reply.replace("\r\n", "\n"))
    blocks = [block for block in found if block.code.strip()]
    complete = [block for block in blocks if block.closed]
    python = [block.code for block in complete if block.language in _PYTHON]
    other = [block.code for block in complete]
    rest = [block.code for block in blocks if not block.closed] or ([] if blocks else [reply])
    defining = [
        code for codes in (python, other, rest) for code in reversed(codes) if _defines(code, names)
    ]
    return next(iter(defining or reversed(python or other)), None)


def _blocks(reply: str) -> Iterator[_Block]:
    opened: re.Match[str] | None = None
    held: list[str] = []
    for line in reply.split("\n"):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            opened, held = fence or _FENCE_AFTER_TEXT.fullmatch(line), []
        elif fence is not None and _closes(fence, opened):
            yield _block(opened, held, closed=True)
            opened = None
        else:
            held.append(line)
    if opened is not None:
        yield _block(opened, _until_end(opened, held), closed=False)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    # One that is indented deeper stands in a docstring of the program.
    return fence[2].startswith(opened[2]) and not fence[3] and len(fence[1]) <= len(opened[1])


def _until_end(opened: re.Match[str], lines: Sequence[str]) -> Sequence[str]:
    """The lines before a closing fence that has text on its line, where there is one."""
    for number, line in enumerate(lines):
        before, fence, after = line.partition(opened[2])
        starts = not before.strip() and len(before) <= len(opened[1])
        if fence and (starts or (before.strip() and not after.strip())):
            return [*lines[:number], before]
    return lines


def _block(opened: re.Match[str], lines: Sequence[str], *, closed: bool) -> _Block:
    code = "\n".join(lines) + "\n"
    return _Block(opened[3].lower(), textwrap.dedent(code) if opened[1] else code, closed)


def _defines(code: str, names: Sequence[str]) -> bool:
    wanted = "|".join(map(re.escape, names)) or r"\w+"
    defined = rf"^(?:(?:async[ ]+)?def|class)[ ]+(?:{wanted})\b|^(?:{wanted})[ ]*(?::[^=\n]*)?=[^=]"
    return re.search(defined, code, re.MULTILINE) is not None
