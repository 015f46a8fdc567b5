"""Short runs in which each thing that can turn a memory does, and one that a person changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lively import lively_world, quick_folder, rich_seed
from scenario import Scenario, by_task, defect, edit, edits, play, rule, same_as

from discernmem.eventlog import EventLog
from discernmem.replayers.overriding import Decision, override
from discernmem.replayers.session import resume, start

RULE = "say the first herb"
HARD = "\u062e\u0630 first herb <script>alert(1)</script> & \U0001f469\u200d\U0001f467 " + "w" * 300
"""A rule of right-to-left text, markup, an emoji of three characters and a long word."""


def lived(*scores: float, **more: object) -> Scenario:
    """A rule learned on q1 that then scores so on q2, q3 …; without it each scores 0.5."""
    by_number = {f"q{number}": score for number, score in enumerate(scores, start=2)}
    return Scenario(
        tasks=len(scores) + 1,
        learn={"q1": rule(RULE)},
        scores={RULE: by_number, "say the herbs": dict.fromkeys(("q2", "q3", "q4"), 1.0)},
        **more,  # type: ignore[arg-type]
    )


def repaired(*rounds: list[dict[str, object]]) -> Scenario:
    """A promoted rule that does harm on q4, by a defect that is named, and its repair."""
    decisions = {"content diagnosis": defect("with:s2", "none:s1"), "repair": edits(*rounds)}
    return lived(1.0, 1.0, 0.0, decisions=decisions, method={"n1": 1})


def repaired_once(*made: dict[str, object]) -> Scenario:
    """A rule that helps on q2 and does harm on q4, and the edits proposed to repair it."""
    return Scenario(
        tasks=4,
        learn={"q1": rule(RULE)},
        supply=("q2", "q4"),
        scores={
            RULE: {"q2": 0.75, "q4": 0.0},
            "say the herbs": {"q2": 0.75, "q4": 1.0},
            "say the full list": {"q2": 0.25, "q4": 1.0},
        },
        decisions={"content diagnosis": defect(), "repair": edits([*made])},
    )


WORSE, ABSENT, GOOD = edit("no herb"), edit("some herb", anchor="absent"), edit("herbs")

SCENARIOS: Mapping[str, Scenario] = {
    "promotion": lived(1.0, 1.0),
    "sustained harm": lived(1.0, 1.0, 0.0, 0.0, 0.0),
    "ineffectiveness": lived(*[0.5] * 5, chatty=[RULE]),
    "committed": repaired([WORSE, ABSENT, GOOD]),
    "failed": repaired([WORSE], [ABSENT]),
    "kept": Scenario(
        tasks=2,
        learn={"q2": rule(RULE)},
        scores={RULE: {"q1": 0.0}, "say the no herb": {"q1": 0.0}},
        decisions={"repair": edits([edit("no herb", cited=())])},
    ),
    "untried": lived(
        1.0,
        1.0,
        0.0,
        decisions={"content diagnosis": defect(), "repair": edits([GOOD])},
        method={"without": ["repair-validation"]},
    ),
    "revival": Scenario(
        tasks=5,
        learn={"q1": rule(RULE), "q5": rule("name the first herb")},
        scores={RULE: {"q2": 0.0, "q3": 0.0, "q4": 0.0, "q5": 1.0}},
        decisions={"identity": same_as("m1")},
    ),
    "hard": Scenario(
        tasks=4,
        learn={"q1": rule(HARD, use=["<b>a jar</b> is named"])},
        scores={
            HARD: {"q2": 1.0, "q3": 1.0, "q4": 0.0},
            HARD.replace("first herb", "herbs"): {"q2": 1.0, "q3": 1.0, "q4": 1.0},
        },
        decisions={
            "content diagnosis": by_task({}, defect(description="<img src=x> of a herb")),
            "repair": edits([GOOD]),
        },
    ),
}
"""By the rule or outcome that turns m1 in it last."""


@contextmanager
def told(name: str) -> Iterator[EventLog]:
    """The log of a scenario."""
    with quick_folder() as folder, EventLog.open(play(SCENARIOS[name], folder / "run").path) as log:
        yield log


@contextmanager
def stepped_into() -> Iterator[tuple[EventLog, str]]:
    """A run in which m1 was edited, retired and revived by a person after its third task."""
    with quick_folder() as folder:
        path = folder / "run.db"
        start(path, lively_world(folder, rich_seed()), until=3)
        for action, text in (("edit", "Look <b>once</b>"), ("retire", ""), ("revive", "")):
            decision = Decision(
                memory="m1", action=action, text=text, reason=f"to {action}", by="ada"
            )  # type: ignore[arg-type]
            override(path, decision)
        world = lively_world(folder, rich_seed())
        resume(path, open_=lambda _: world, until=6)
        with EventLog.open(path) as log:
            yield log, "m1"
