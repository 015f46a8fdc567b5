"""Disks that are full and places that may not be written."""

from __future__ import annotations

from pathlib import Path

from discernmem.eventlog import EventLog

from . import mishaps, mounts
from .stage import Scene, Trial, require, require_told
from .users import Mishap, call

READING = ("verify", "replay --offline", "store", "why m1", "log", "export")
"""Commands that only read."""


# -- full --------------------------------------------------------------------------------------


def full_disk(scene: Scene) -> Trial:
    """No file can grow beyond a size: log, write-ahead log, side file or the head's file."""
    acknowledged = 0
    if scene.number % 2:
        acknowledged = scene.rng.randrange(1, scene.calm.length - 150)
        scene.killed_by(mishaps.die_after(acknowledged))
    seen = scene.go_on(mishaps.file_limit(scene.rng.randrange(1, 1_500_000)))
    require_told(seen, 3)
    return scene.resumed(scene.told(seen), max(acknowledged, seen.acknowledged))


def full_log(scene: Scene) -> Trial:
    """SQLite itself finds the disk full."""
    with EventLog.open(scene.calm.log) as finished:
        ((pages,),) = finished.rows("pragma page_count")
    seen = scene.begin(mishaps.page_limit(scene.rng.randrange(30, pages)))
    require_told(seen, 3)
    return scene.resumed(scene.told(seen), seen.acknowledged)


def full_file_system(scene: Scene) -> Trial:
    """The log is on a file system of its own, which is too small and then given more room.

    Where the system lets nobody mount one, files are limited instead.
    """
    if not mounts.may_mount():
        return full_disk(scene)
    calm, log = scene.calm, scene.folder / "small" / "run.db"
    log.parent.mkdir()
    with mounts.small_disk(log.parent, scene.rng.randrange(1, 4_000_000)) as disk:
        seen = calm.begin(log, disk.enter)
        require_told(seen, 3)
        disk.copy_to(scene.folder / "stopped")
        disk.grow(64 << 20)
        begun = seen.acknowledged > 0
        again = call(["resume", log] if begun else calm.command(log), calm.seed, disk.enter)
        require(again.status == 0, f"not resumed: {again.printed[-500:]}")
        disk.copy_to(scene.folder / "whole")
    lost = calm.lost(scene.folder / "stopped" / "run.db", seen.acknowledged)
    require(calm.is_whole(scene.folder / "whole" / "run.db"), "another log than the undisturbed")
    return Trial(told=scene.told(seen), lost=lost)


def no_room_for_the_head(scene: Scene) -> Trial:
    """The finished log fits, the file of its head beside it does not."""
    seen = scene.begin(mishaps.no_room_for_the_head)
    require_told(seen, 3)
    require(seen.acknowledged == scene.calm.length, f"acknowledged {seen.acknowledged}")
    return scene.resumed(scene.told(seen), seen.acknowledged)


# -- read-only ---------------------------------------------------------------------------------


def read_only_folder(scene: Scene) -> Trial:
    """Neither the folder nor the files in it may be written."""
    left = _stopped(scene)
    answers = _answers(scene)
    for path in scene.folder.iterdir():
        path.chmod(0o444)
    scene.folder.chmod(0o555)
    try:
        told = _refused(scene, answers, mishaps.unprivileged)
    finally:
        scene.folder.chmod(0o755)
        for path in scene.folder.iterdir():
            path.chmod(0o644)
    return scene.resumed(told, left)


def read_only_file_system(scene: Scene) -> Trial:
    """The folder is on a file system that is mounted to be read.

    Where the system lets nobody mount one, permissions stand for it.
    """
    if not mounts.may_mount():
        return read_only_folder(scene)
    left = _stopped(scene)
    answers = _answers(scene)
    with mounts.read_only(scene.folder) as mount:
        told = _refused(scene, answers, mount.enter)
    return scene.resumed(told, left)


def read_only_file(scene: Scene) -> Trial:
    """Only the log itself may not be written."""
    left = scene.begin(mishaps.answers(scene.rng.randrange(1, 150)))
    scene.log.chmod(0o444)
    scene.folder.chmod(0o777)
    refused = scene.go_on(mishaps.unprivileged)
    require_told(refused, 2)
    scene.log.chmod(0o644)
    return scene.resumed(scene.told(refused), left.acknowledged)


def _stopped(scene: Scene) -> int:
    """Record a part of the run, in turn killed and closed; how many events were acknowledged."""
    event = max(60, scene.place())
    if scene.number % 2:
        return scene.killed_by(mishaps.die_after(event)).acknowledged
    return scene.begin(mishaps.answers(event // 4)).acknowledged


def _refused(scene: Scene, answers: list[str], mishap: Mishap) -> str:
    """Recording is refused in one line and nothing changes; every question is still answered."""
    before = _contents(scene.folder)
    refused = scene.go_on(mishap)
    require_told(refused, 2)
    require_told(scene.calm.begin(scene.folder / "new.db", mishap), 2)
    require(_answers(scene, mishap) == answers, "a question is answered otherwise")
    require(_contents(scene.folder) == before, "something in the folder was changed")
    return scene.told(refused)


def _answers(scene: Scene, *mishaps: Mishap) -> list[str]:
    answers = [scene.ask(command, *mishaps) for command in READING]
    for command, answer in zip(READING, answers, strict=True):
        require(answer.status == 0, f"{command}: {answer.status}: {answer.printed[-300:]}")
    return [answer.printed for answer in answers]


def _contents(folder: Path) -> dict[str, bytes]:
    # The index of the write-ahead log is SQLite's working memory, shared with readers.
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.endswith("-shm")
    }
