"""A log of any size that tells a true story: the real cycle over a world of dice.

The rules, the journal, the team's play and the parsing of answers are those of a run, so every
conclusion in the log is one they came to. Drawn is only what a run of this length has no time for
(`large_world`), and a task is as long as it must be for the counts to come out (`large_plan`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import attrs
import orjson
from large_plan import FULL, Plan, Scale
from large_world import DrawnRun, Speaker, Stream
from lively import Dice
from scripted import BagEmbedder
from staged_log import StagedLog

from discernmem.decisions.settings import DECISION_VERSION
from discernmem.eventlog import Draft, canonical, digest_json, files
from discernmem.eventlog import events as ev
from discernmem.projections.state import State
from discernmem.replayers.config import parse_config
from discernmem.replayers.cycle import run_task
from discernmem.replayers.deciding import Decider
from discernmem.replayers.embeddings import Embeddings
from discernmem.replayers.executions import LiveExecutions
from discernmem.replayers.hosts import open_host
from discernmem.replayers.hosts.base import Host
from discernmem.replayers.journal import Journal
from discernmem.replayers.session import finish_run, setting_of

__all__ = ["FULL", "Scale", "generate"]

START = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(seconds=7)


def generate(path: Path, *, seed: int = 1, scale: Scale = FULL) -> None:
    """Make a log of a whole run at ``path``; the same seed and scale make the same log.

    Raises:
        AssertionError: the scale leaves no room for the story, or the counts did not come out.
    """
    host = open_host("autogen")
    plan = Plan(dice=Dice(seed), scale=scale)
    stream = Stream(plan)
    header = _header(seed, scale, host, stream)
    config = parse_config(header.config, "large log")
    name = digest_json([seed, attrs.asdict(scale)])
    ticks = count()
    files.make(path, log_id=name[:32], run=header.run)
    with StagedLog.open(path, write=True, clock=lambda: START + next(ticks) * TICK) as log:
        plan.log = log
        log.append([Draft(event=header, actor="run")])
        log.flush()
        journal = Journal(log, state=State(), after=1)
        gateway = Speaker(journal, plan)
        run = DrawnRun(
            journal=journal,
            settings=config.method,
            roles=host.roles,
            executions=LiveExecutions(
                journal,
                setting_of(header, config),
                host=host,
                benchmark=stream,
                gateway=gateway,
            ),
            decider=Decider(
                gateway=gateway,
                seed=config.method.seed,
                temperature=config.sampling.decision_temperature,
                top_p=config.sampling.top_p,
                attempts=config.method.attempts,
            ),
            embeddings=Embeddings(journal, header.embedder["fingerprint"], BagEmbedder()),
            plan=plan,
        )
        for index, task in enumerate(stream.tasks(), start=1):
            plan.begin(index, task, len(run.state.store))
            run_task(run, header.run, index, task)
            log.flush()
        finish_run(run, header.run, scale.tasks)
        log.flush()
        made = (len(run.state.store), log.events, len(log.known))
        assert made == (scale.memories, scale.events, scale.blobs), made


def _header(seed: int, scale: Scale, host: Host, stream: Stream) -> ev.RunStarted:
    config = parse_config(
        {
            "benchmark": {"name": stream.name, "seed": seed},
            "model": {"name": "dice"},
            "embedder": {"name": "bag"},
            "method": {"candidates": 2, "rounds": 2, "attempts": 2},
        },
        "large log",
    )
    fixed = {
        "config": config.table(),
        "host": host.facts(stream),
        "benchmark": dict(stream.facts),
        "model": {"fingerprint": "dice", "seed": seed},
        "embedder": {"fingerprint": "bag", **BagEmbedder().card.facts},
        "stream_digest": digest_json([[task.id, task.text] for task in stream.tasks()]),
        "decision_version": DECISION_VERSION,
    }
    return ev.RunStarted(
        run=digest_json(fixed)[:12],
        tasks=scale.tasks,
        software={"made by": "large_log"},
        **orjson.loads(canonical(fixed)),
    )
