"""No task costs more team executions than the plan announces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lively import Dice, Lively, quick_folder
from scripted import ScriptedModel, scripted_world, stream_file

from discernmem.decisions.plan import worst_case
from discernmem.decisions.settings import Settings
from discernmem.eventlog import EventLog
from discernmem.projections.summary import TaskRow, summarise
from discernmem.replayers.session import start

ROLES = 2


def costly_model(seed: int, candidates: int) -> ScriptedModel:
    """Rules help at first and harm later, every harm is a defect, and no edit ever mends one."""
    dice = Dice(seed)
    lively = Lively(dice)

    def answer(role: str, prompt: str) -> str:
        if role == "assistant":
            return "I think so"
        (number,) = map(int, re.findall(r"question (\d+)", prompt)[:1])
        helped = "<notes>" in prompt and "look again" not in prompt
        late = number > 4
        return "right" if helped != late and dice.roll("luck", prompt) < 0.9 else "wrong"

    def extraction(prompt: str) -> Any:
        number = dice.number(10**6, prompt)
        return {
            "reason": "",
            "store": True,
            "rule": f"Check passage {number}",
            "use_when": ["a question"],
            "avoid_when": [],
        }

    def diagnosis(prompt: str) -> Any:
        cited = list(dict.fromkeys(re.findall(r"\bwith:s\d+", prompt)))[:1]
        return {"reason": "", "defect": "wrong_order", "description": "bad", "cited": cited}

    def repair(prompt: str) -> Any:
        body = re.findall(r"^RULE:\n> (.+)$", prompt, re.MULTILINE)[0]
        edit = {"correction": "better", "operation": "ADD", "anchor": body, "cited": []}
        texts = [f"and look again {dice.number(10**9, str(n), prompt)}" for n in range(candidates)]
        return {"reason": "", "edits": [{**edit, "text": text} for text in texts]}

    return ScriptedModel(
        answer,
        {
            "extraction": extraction,
            "identity": lively.identity,
            "content diagnosis": diagnosis,
            "repair": repair,
        },
    )


def rows_of(folder: Path, seed: int, method: Settings) -> list[TaskRow]:
    stream = stream_file(folder / "s.jsonl", [f"Why is question {n} asked?" for n in range(1, 9)])
    table = {name: getattr(method, name) for name in VARIED}
    log = folder / "run.db"
    start(log, scripted_world(stream, costly_model(seed, method.candidates), method=table))
    with EventLog.open(log) as opened:
        return summarise(opened.read())


VARIED = ("k_ret", "k_inj", "k_id", "candidates", "rounds", "n1", "n2", "related_tries")
METHODS = st.builds(
    Settings,
    k_ret=st.integers(1, 3),
    k_inj=st.integers(0, 3),
    k_id=st.sampled_from((0, 5)),
    candidates=st.integers(0, 3),
    rounds=st.integers(0, 3),
    n1=st.integers(0, 3),
    n2=st.integers(0, 2),
    related_tries=st.integers(0, 4),
)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(METHODS, st.integers(0, 10**6))
def test_no_task_exceeds_the_announced_worst_case(method: Settings, seed: int) -> None:
    bound = worst_case(method, ROLES)
    with quick_folder() as folder:
        for row in rows_of(folder, seed, method):
            assert row.executions_run >= 1, row
            assert row.executions_run <= row.executions_asked <= bound, row


def test_the_worst_case_is_not_far_from_what_a_bad_run_costs(tmp_path: Path) -> None:
    method = Settings(candidates=3, rounds=3, related_tries=2)
    asked = max(row.executions_asked for row in rows_of(tmp_path, 1, method))
    assert asked > worst_case(method, ROLES) / 4
