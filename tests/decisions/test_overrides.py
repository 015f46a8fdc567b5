"""What a person may decide about a memory, and what follows from it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from discernmem.decisions.overrides import consequences, refusal, resolved
from discernmem.eventlog import events as ev
from discernmem.projections.store import Condition, Memory

MEMORY = Memory(
    id="m3",
    owner="assistant",
    state="active",
    version=2,
    body="Look before moving.",
    use_when=(Condition("a lid is shut", "e1", "extraction"), Condition("it rains", "e1", "")),
    avoid_when=(Condition("It  rains", "e2", "scope check"), Condition("nobody asks", "e3", "")),
    source_task="t1",
    source_execution="x",
    admitted_at=1,
    capabilities=(),
    versions=(),
)


def decided(action: ev.OverrideAction, text: str = "", **fields: Any) -> ev.MemoryOverridden:
    return ev.MemoryOverridden(
        memory="m3",
        version=2,
        body="d",
        action=action,
        kind=fields.get("kind"),
        text=text,
        reason="because",
        by="ada",
    )


@pytest.mark.parametrize(
    ("action", "state", "text", "kind", "says"),
    [
        pytest.param("retire", "active", "", None, "", id="retire what is active"),
        pytest.param("retire", "provisional", "", None, "", id="retire what is provisional"),
        pytest.param("retire", "inactive", "", None, "inactive already", id="retire twice"),
        pytest.param("revive", "inactive", "", None, "", id="revive"),
        pytest.param(
            "revive", "active", "", None, "is active, not inactive", id="revive a live one"
        ),
        pytest.param("edit", "active", "Look twice.", None, "", id="edit"),
        pytest.param("edit", "active", " ", None, "needs a text", id="edit to nothing"),
        pytest.param("edit", "active", "Look  before\nmoving.", None, "says that", id="same words"),
        pytest.param("add-use", "active", "a bell rings", None, "", id="add a use condition"),
        pytest.param(
            "add-use", "active", "A LID is shut", None, "already", id="same use condition"
        ),
        pytest.param("add-avoid", "active", "a lid is shut", None, "", id="the other kind has it"),
        pytest.param("add-avoid", "active", "", None, "needs a text", id="add nothing"),
        pytest.param("withdraw-condition", "active", "nobody asks", None, "", id="withdraw"),
        pytest.param("withdraw-condition", "active", "a bell", None, "no such", id="not there"),
        pytest.param(
            "withdraw-condition", "active", "nobody asks", "use_when", "no such", id="other kind"
        ),
        pytest.param(
            "withdraw-condition", "active", "it rains", None, "say which", id="in both kinds"
        ),
        pytest.param("withdraw-condition", "active", "it rains", "avoid_when", "", id="said which"),
    ],
)
def test_a_decision_is_refused_if_it_cannot_be_carried_out(
    action: ev.OverrideAction,
    state: ev.State,
    text: str,
    kind: ev.ConditionKind | None,
    says: str,
) -> None:
    refused = refusal(attrs.evolve(MEMORY, state=state), action, text, kind)
    assert bool(refused) == bool(says)
    assert says in refused


@pytest.mark.parametrize(
    ("action", "text", "kind", "recorded"),
    [
        ("retire", "", None, ("", None)),
        ("edit", "Look twice.", None, ("Look twice.", None)),
        ("edit", "\n Look\n  twice. ", None, ("Look\n  twice.", None)),
        ("add-avoid", " a  bell\nrings ", None, ("a bell rings", "avoid_when")),
        ("add-use", "a bell rings", None, ("a bell rings", "use_when")),
        ("withdraw-condition", "NOBODY asks", None, ("nobody asks", "avoid_when")),
        ("withdraw-condition", "it rains", "avoid_when", ("It  rains", "avoid_when")),
    ],
)
def test_a_condition_is_recorded_tidied_or_as_it_is_written(
    action: ev.OverrideAction,
    text: str,
    kind: ev.ConditionKind | None,
    recorded: tuple[str, ev.ConditionKind | None],
) -> None:
    assert resolved(MEMORY, action, text, kind) == recorded


def changed(before: ev.State, after: ev.State, version: int = 2) -> ev.StateChanged:
    return ev.StateChanged(
        memory="m3",
        version=version,
        before=before,
        after=after,
        rule="override",
        evidence=("cause",),
    )


EDITED = ev.MemoryRevised(
    memory="m3", version=3, body="Look twice.", repair="", round=0, number=0, capability=None
)


@pytest.mark.parametrize(
    ("state", "decision", "follows"),
    [
        ("active", decided("retire"), [changed("active", "inactive")]),
        ("inactive", decided("revive"), [changed("inactive", "provisional")]),
        ("active", decided("edit", "Look twice."), [EDITED, changed("active", "provisional", 3)]),
        (
            "inactive",
            decided("edit", "Look twice."),
            [EDITED, changed("inactive", "provisional", 3)],
        ),
        ("provisional", decided("edit", "Look twice."), [EDITED]),
        (
            "active",
            decided("add-avoid", "a bell rings"),
            [
                ev.ConditionAdded(
                    memory="m3",
                    version=2,
                    kind="avoid_when",
                    text="a bell rings",
                    source="override",
                )
            ],
        ),
        (
            "active",
            decided("add-use", "a bell rings"),
            [
                ev.ConditionAdded(
                    memory="m3", version=2, kind="use_when", text="a bell rings", source="override"
                )
            ],
        ),
        (
            "active",
            decided("withdraw-condition", "nobody asks", kind="avoid_when"),
            [ev.ConditionWithdrawn(memory="m3", version=2, kind="avoid_when", text="nobody asks")],
        ),
    ],
)
def test_what_follows_from_a_decision(
    state: ev.State, decision: ev.MemoryOverridden, follows: list[ev.Event]
) -> None:
    assert list(consequences(attrs.evolve(MEMORY, state=state), decision, "cause")) == follows
