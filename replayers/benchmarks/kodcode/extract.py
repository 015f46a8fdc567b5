"""The program in a team's reply."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

import attrs

# Possessive throughout: no reply, however strange, is searched twice.
_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`]*+")
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
    follows a fence that was never closed, else the reply itself. Of several blocks the last that
    defines a wanted name goes before those that define none, which only show how to use it; and
    what stands in no complete block must define one.

    Nothing of the reply is parsed here: that is left to the sandbox.

    Args:
        reply: the team's final action.
        names: the names that the program has to define.
    """
    found = _blocks(reply.replace("\r\n", "\n"))
    blocks = [block for block in found if block.code.strip()]
    complete = [block for block in blocks if block.closed]
    python = [block.code for block in complete if block.language in _PYTHON]
    for codes in (python, [block.code for block in complete]):
        if codes:
            return next((code for code in reversed(codes) if _defines(code, names)), codes[-1])
    rest = blocks[-1].code if blocks else reply
    return rest if _defines(rest, names) else None


def _blocks(reply: str) -> Iterator[_Block]:
    opened: re.Match[str] | None = None
    held: list[str] = []
    for line in reply.split("\n"):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            opened, held = fence, []
        elif fence is not None and _closes(fence, opened):
            yield _block(opened, held, closed=True)
            opened = None
        else:
            held.append(line)
    if opened is not None:
        yield _block(opened, held, closed=False)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    # One that is indented deeper stands in a docstring of the program.
    return fence[2].startswith(opened[2]) and not fence[3] and len(fence[1]) <= len(opened[1])


def _block(opened: re.Match[str], lines: Sequence[str], *, closed: bool) -> _Block:
    code = "\n".join(lines) + "\n"
    return _Block(opened[3].lower(), textwrap.dedent(code) if opened[1] else code, closed)


def _defines(code: str, names: Sequence[str]) -> bool:
    wanted = "|".join(map(re.escape, names)) or r"\w+"
    defined = rf"^(?:(?:async[ ]+)?def|class)[ ]+(?:{wanted})\b|^(?:{wanted})[ ]*(?::[^=\n]*)?=[^=]"
    return re.search(defined, code, re.MULTILINE) is not None
