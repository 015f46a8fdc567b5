"""A log as JSON Lines: every byte of it, in an order and a form that two equal logs share."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from . import files, lines
from .chain import Head
from .errors import BadInput
from .lock import WriterLock
from .prefix import ending, proven
from .reading import Readable


def export(log: Readable, out: BinaryIO, *, until: int | None = None) -> Head:
    """Write a log as canonical JSON Lines; the head it was exported up to.

    Args:
        log: the log; open it with ``check=False`` to save what is before its damage.
        out: where to.
        until: only the events up to this position, with the head the log had there.

    Raises:
        BadInput: the log never ended at ``until``.
        LogError: what is exported is damaged; what was written has no head and cannot be imported.
    """
    head = ending(log, until)
    out.write(lines.facts_line(files.facts(log.log_id, log.run)))
    for event in proven(log, head.position):
        for sha256, content in event.contents:
            out.write(lines.blob_line(sha256.hex(), content))
        header, payload, links, hash_, _ = event
        canonical = lines.is_canonical(payload)
        out.write(lines.event_line(header, payload, links, hash_, canonical=canonical))
    out.write(lines.head_line(head))
    return head


def export_file(log: Readable, path: str | Path, *, until: int | None = None) -> Head:
    """`export` to a new file, which appears whole or not at all.

    A name that ends in ``.gz`` is compressed, to the same bytes each time.

    Raises:
        BadInput: the path is taken or cannot be written, or as `export`.
        LogBusy: another process is writing it.
        LogError: as `export`.
        Infrastructure: the disk is full or fails.
    """
    path = Path(path)
    draft = path.with_name(path.name + ".new")
    lock = WriterLock(path)
    try:
        if path.exists():
            raise BadInput(f"{path} exists; choose another path, or move it away")
        with files.reported(path):
            with ExitStack() as opened:
                out: BinaryIO = opened.enter_context(draft.open("wb"))
                if path.suffix == ".gz":
                    # Without a name and a time, which would differ for equal contents.
                    packed = gzip.GzipFile("", "wb", fileobj=out, mtime=0)
                    out = cast(BinaryIO, opened.enter_context(packed))
                head = export(log, out, until=until)
            files.publish(draft, path)
        return head
    finally:
        draft.unlink(missing_ok=True)
        lock.release()
