"""Bytes that are gone or changed: in the log itself, and in what SQLite keeps beside it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from processes import story

from discernmem.eventlog.files import wal_of

from . import mishaps
from .stage import Scene, Trial, require, require_told, resumed
from .users import call

PAGE = 4096


# -- in the log --------------------------------------------------------------------------------


def truncated(scene: Scene) -> Trial:
    """The file ends somewhere, as after a copy that was cut."""

    def cut(data: bytearray) -> None:
        del data[scene.rng.randrange(100, len(data)) :]

    return _damaged(scene, cut)


def page_overwritten(scene: Scene) -> Trial:
    """A page of the file holds zeros or anything, as on a dying disk."""

    def overwrite(data: bytearray) -> None:
        at = scene.rng.randrange(len(data) // PAGE) * PAGE
        data[at : at + PAGE] = bytes(PAGE) if scene.number % 2 else scene.rng.randbytes(PAGE)

    return _damaged(scene, overwrite)


def header_destroyed(scene: Scene) -> Trial:
    """The first bytes of the file, by which anybody knows what it is, are gone."""

    def overwrite(data: bytearray) -> None:
        size = (16, 100, PAGE)[scene.number % 3]
        data[:size] = scene.rng.randbytes(size)

    return _damaged(scene, overwrite)


def _damaged(scene: Scene, damage: Callable[[bytearray], None]) -> Trial:
    """Verify says what is wrong; what is before the damage is saved, and the rest made again."""
    log = scene.calm.copy_to(scene.log)
    data = bytearray(log.read_bytes())
    damage(data)
    log.write_bytes(data)
    seen = scene.ask("verify")
    if seen.status == 0:
        require(story(log) == list(scene.calm.events), "verify finds nothing, but events are gone")
        return Trial(told="nothing: the page held nothing any more", lost=0)
    require_told(seen, 1)
    saved = scene.folder / "saved.db"
    kept = _export(scene, saved)
    if kept is None:
        # Nobody can open it any more: an older copy takes its place.
        require_told(scene.calm.begin(saved, mishaps.answers(scene.rng.randrange(1, 150))), 3)
        kept = 0
    return resumed(scene.calm, saved, scene.told(seen), kept)


def _export(scene: Scene, to: Path) -> int | None:
    """Save what is before the damage, as the export says; how many events, None if none can be."""
    exported = scene.folder / "saved.jsonl"
    export = ["export", "--out", exported, scene.log]
    seen = call(export, scene.calm.seed)
    if seen.status != 0:
        require_told(seen, 2)
        until = re.search(r"`discernmem export --until (\d+)` saves", seen.complaint)
        if until is None:
            return None
        seen = call([*export, "--until", until[1]], scene.calm.seed)
    require(seen.status == 0, f"not exported: {seen.printed[-500:]}")
    (kept,) = map(int, re.findall(r"^(\d+) events exported", seen.printed))
    seen = call(["import", exported, to], scene.calm.seed)
    require(seen.status == 0, f"not imported: {seen.printed[-500:]}")
    return kept


# -- beside the log ----------------------------------------------------------------------------


def wal_missing(scene: Scene) -> Trial:
    """The main file was copied without its write-ahead log."""

    def lose(wal: Path) -> None:
        wal.unlink()

    return _shortened(scene, lose)


def wal_cut(scene: Scene) -> Trial:
    """The write-ahead log ends somewhere, or some of it is changed: the rest of it is void."""

    def spoil(wal: Path) -> None:
        data = bytearray(wal.read_bytes())
        at = scene.rng.randrange(len(data))
        if scene.number % 2:
            del data[at:]
        else:
            data[at : at + 64] = scene.rng.randbytes(64)
        wal.write_bytes(data)

    return _shortened(scene, spoil)


def wal_older(scene: Scene) -> Trial:
    """A copy of the write-ahead log from some events before is put back."""
    copy = scene.folder / "wal"

    def put_back(wal: Path) -> None:
        shutil.copy(copy, wal)

    return _shortened(scene, put_back, copy=copy)


def _shortened(scene: Scene, fault: Callable[[Path], None], *, copy: Path | None = None) -> Trial:
    """What the write-ahead log held is gone, which only a head kept outside can tell."""
    require_told(scene.begin(mishaps.answers(scene.rng.randrange(1, 60))), 3)
    event = _length(scene) + scene.rng.randrange(10, 100)
    if copy is not None:
        scene.killed_by(mishaps.die_after(event))
        shutil.copy(wal_of(scene.log), copy)
        event += scene.rng.randrange(1, 30)
    scene.killed_by(mishaps.die_after(event))
    head = scene.folder / "head"
    head.write_text(scene.ask("export --head").printed)
    fault(wal_of(scene.log))
    seen = scene.ask(f"verify --against {head}")
    if seen.status == 0:
        require(_length(scene) == event, "verify finds nothing, but events are gone")
        return scene.resumed("nothing: no event was in it", event)
    require_told(seen, 1)
    told = scene.told(seen)
    refused = call(["resume", scene.log], scene.calm.seed)
    if refused.status != 0:
        # What is left of it is older than what was brought into the main file already.
        require_told(refused, 2)
        told = scene.told(refused)
        wal_of(scene.log).unlink()
        seen = scene.ask(f"verify --against {head}")
        if seen.status == 0:
            return scene.resumed(told, event)
        require_told(seen, 1)
        require(" 1 problem " in seen.complaint, f"not sound: {seen.printed[-500:]}")
    require("shorter than its head" in seen.printed, f"not named: {seen.printed[-500:]}")
    return scene.resumed(told, 0)


def wal_of_another_time(scene: Scene) -> Trial:
    """A write-ahead log from long before lies beside a log that went on and was closed."""
    require_told(scene.begin(mishaps.answers(scene.rng.randrange(1, 60))), 3)
    scene.killed_by(mishaps.die_after(_length(scene) + scene.rng.randrange(1, 60)))
    wal, copy = wal_of(scene.log), scene.folder / "wal"
    shutil.copy(wal, copy)
    closed = scene.go_on(mishaps.answers(scene.rng.randrange(1, 30)))
    require_told(closed, 3)
    acknowledged = _length(scene)
    shutil.copy(copy, wal)
    refused = call(["resume", scene.log], scene.calm.seed)
    require_told(refused, 2)
    require_told(scene.ask("verify"), 1)
    wal.unlink()
    require(scene.ask("verify").status == 0, "without it the log is not sound")
    return scene.resumed(scene.told(refused), acknowledged)


def index_of_wal_spoiled(scene: Scene) -> Trial:
    """SQLite's shared memory beside the log holds anything, is left over, or is gone."""
    seen = scene.killed_by(mishaps.die_after(scene.place()))
    shared = scene.log.with_name("run.db-shm")
    match scene.number % 3:
        case 0:
            shared.write_bytes(scene.rng.randbytes(shared.stat().st_size))
        case 1:
            shared.write_bytes(scene.rng.randbytes(scene.rng.randrange(1, 100_000)))
        case _:
            shared.unlink()
    require(scene.ask("verify").status == 0, "verify finds something")
    return scene.resumed("nothing: it is made again", seen.acknowledged)


def _length(scene: Scene) -> int:
    return len(story(scene.log))
