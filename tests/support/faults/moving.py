"""A world that changes around a log: clocks, places, names, servers."""

from __future__ import annotations

import os
from pathlib import Path

from processes import story

from . import mishaps
from .stage import Scene, Trial, require, require_told, resumed
from .users import call

NAMES = (
    "with spaces/my run.db",
    "ünïcödé 記録/журнал.db",
    "what?#1/100%41?mode=memory&x#.db",
    "-dash/-run.db",
    "no suffix/run",
    f"{'long' * 50}/{'name' * 57}.db",
)
READING = ("verify", "replay --offline", "store", "why m1", "log")


def clock_backwards(scene: Scene) -> Trial:
    """The wall clock jumps while the run is recorded, and is wrong again when it is resumed."""
    event = scene.place()
    seen = scene.begin(mishaps.clock(2030, 1971, 2031, 2000), mishaps.die_after(event))
    require(seen.acknowledged == event, f"not killed: {seen.printed[-500:]}")
    require(scene.go_on(mishaps.clock(1999, 1970)).status == 0, "not resumed")
    require(scene.ask("replay --offline").status == 0, "not derived again")
    return scene.resumed("nothing: no rule reads the time", event)


def moved(scene: Scene) -> Trial:
    """The log goes on in another folder, under another name, all of it or just its one file."""
    killed = scene.number // len(NAMES) % 2 == 0
    event = max(60, scene.place())
    if killed:
        acknowledged = scene.killed_by(mishaps.die_after(event)).acknowledged
    else:
        acknowledged = scene.begin(mishaps.answers(event // 4)).acknowledged
    before = [scene.ask(command).printed for command in READING]
    log = scene.folder / NAMES[scene.number % len(NAMES)]
    log.parent.mkdir()
    for ending in ("", "-wal") if killed else ("",):
        os.rename(f"{scene.log}{ending}", f"{log}{ending}")
    for command, said in zip(READING, before, strict=True):
        # From its folder, by its bare name.
        seen = scene.calm.ask(command, Path(log.name), mishaps.in_folder(log.parent))
        require(seen.printed == said, f"{command} says something else: {seen.printed[-500:]}")
    lost = scene.calm.lost(log, acknowledged)
    seen = call(["resume", "--", log.name], scene.calm.seed, mishaps.in_folder(log.parent))
    require(seen.status == 0, f"not resumed: {seen.printed[-500:]}")
    trial = resumed(scene.calm, log, "nothing: it is one file", acknowledged)
    return Trial(told=trial.told, lost=lost + trial.lost)


def linked(scene: Scene) -> Trial:
    """The log is reached by a link from elsewhere, live, killed and resumed."""
    link = scene.folder / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(scene.log)
    event = scene.place()
    seen = scene.calm.begin(link, mishaps.die_after(event))
    require(seen.acknowledged == event, f"not killed: {seen.printed[-500:]}")
    require(len(story(link)) == event, "by the link it is another log")
    require(os.listdir(link.parent) == ["link.db"], "something is beside the link")
    return resumed(scene.calm, link, "nothing", event)


def server_down(scene: Scene) -> Trial:
    """The model's server goes down: that is no answer, so no score and no decision rests on it."""
    seen = scene.begin(mishaps.answers(scene.rng.randrange(0, 170)))
    require_told(seen, 3)
    require(len(story(scene.log)) == seen.acknowledged, "something was recorded about it")
    return scene.resumed(scene.told(seen), seen.acknowledged)
