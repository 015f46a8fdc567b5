"""The words of all seven decisions, as they reach a model in one run."""

from __future__ import annotations

from golden import check_prompts
from scenario import Scenario, Tell, defect, edit, edits, rule

from discernmem.decisions import llm
from discernmem.eventlog import events as ev

RULE = "say the first herb"


def test_other_words_are_noticed(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=5,
            learn={"q1": rule(RULE), "q2": rule("say a herb")},
            supply=("q3", "q4", "q5"),
            scores={RULE: {"q3": 1.0, "q4": 1.0, "q5": 0.0}},
            decisions={
                "identity": {"reason": "", "match": "m1"},
                "content diagnosis": defect(),
                "repair": edits([edit("herbs")], [edit("herb")]),
            },
        )
    )
    asked = {reply.purpose for reply in story.of(ev.ModelReplied)}
    assert asked == {"role", *llm.DECISIONS}
    check_prompts(story, "prompts")
