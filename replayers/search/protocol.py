"""How a role asks for a search and how the passages reach it.

A role writes ``<search>query</search>`` and reads ``<information>…</information>``; the team's last
reply holds ``<answer>…</answer>``. Tags count in any case. Only complete pairs count: nothing is
guessed from a reply that was cut off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..benchmarks.base import Passage

_TAG = r"</?(?:search|answer)>"
_PAIR = re.compile(
    rf"<(?P<tag>search|answer)>(?P<inside>(?:(?!{_TAG}).)*)</(?P=tag)>",
    re.IGNORECASE | re.DOTALL,
)
# Every bracket goes, so that no rule about what makes a tag can ever be outwitted.
_HARMLESS = str.maketrans("<>", "\u2039\u203a")


def query_of(reply: str) -> str | None:
    """The search a reply asks for, its white space made single spaces; None for none.

    The first complete pair of either kind decides, as a reply is read from its start: what a role
    writes after its first search was written before it could know the passages (small models
    invent them and go on), and after an answer there is nothing to look up. A pair without a word
    in it is passed over.
    """
    for pair in _PAIR.finditer(reply):
        if inside := " ".join(pair["inside"].split()):
            return inside if pair["tag"].lower() == "search" else None
    return None


def information(passages: Sequence[Passage]) -> str:
    """The block by which passages reach a role: one numbered line each, the title in quotes.

    Passages are data. Each is one line without angle brackets, so that none can close the block,
    ask for a search, give an answer or pass for two passages.
    """
    lines = [
        f'[{at}] "{_line(passage.title).replace(chr(34), chr(39))}" {_line(passage.text)}'.rstrip()
        for at, passage in enumerate(passages, start=1)
    ]
    return "\n".join(
        ["<information>", *(lines or ["No passage was found."]), "</information>"],
    )


def _line(text: str) -> str:
    return " ".join(text.translate(_HARMLESS).split())
