"""The words a role reads: its task, what happened so far, its colleagues, its memories."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...decisions.llm.parsing import without_reasoning
from ...projections.store import Memory
from .episode import Episode

_END = re.compile(r"<\s*/\s*notes\s*>", re.IGNORECASE)


def memory_block(memories: Sequence[Memory], *, conditions: bool = True) -> str:
    """The one delimited block by which memories reach their owner; empty for none.

    Rules and conditions stand in double quotes: they are data the role may apply, not orders.
    Without ``conditions`` the rules stand alone (the ablation of App. C).
    """
    if not memories:
        return ""
    hint = " Apply one only where its conditions hold." if conditions else ""
    lines = ["<notes>", f"Rules from earlier tasks.{hint}"]
    for memory in memories:
        lines.append(f"- rule: {_quoted(memory.body)}")
        if conditions:
            lines.append(f"  use when: {_listed(memory.use_texts)}")
            lines.append(f"  avoid when: {_listed(memory.avoid_texts)}")
    lines.append("</notes>")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = _END.sub("(notes)", text.replace('"', "'"))
    return f'"{" ".join(escaped.splitlines())}"'


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(_quoted(text) for text in texts) if texts else "(none stated)"


def aloud(reply: str) -> str:
    """What a reply says, without what its role reasoned."""
    said = without_reasoning(reply)
    return reply if said == reply else said.strip()


def pre_action_context(task: str, initial: str, heard: Sequence[tuple[str, str]]) -> str:
    """What a role has seen before its first call: task, initial observation, upstream messages."""
    return _joined([task, initial, *_said(heard)])


def user_message(
    episode: Episode,
    heard: Sequence[tuple[str, str]] = (),
    found: Sequence[str] = (),
    block: str = "",
) -> str:
    """A role's user message: what all replays share first, the memory block last.

    Shared text first lets a backend reuse its prefix; a rule moves a small model most at the end.

    Args:
        episode: the episode so far.
        heard: the roles it hears, with what they said in this pass.
        found: what it searched for in this pass, with what came back.
        block: its memories.
    """
    past = [f"> {action}\n{observation}" for action, observation in episode.history]
    return _joined(
        [episode.task.text, episode.initial, *past, episode.view.aids, *_said(heard), *found, block]
    )


def _said(heard: Sequence[tuple[str, str]]) -> list[str]:
    return [f"[{role}] {text}" for role, text in heard]


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)
