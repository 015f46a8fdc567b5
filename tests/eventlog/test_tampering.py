"""Whatever is changed in the file of a real run is named with its position, or changes nothing.

``TAMPERING=50 python -m pytest tests/eventlog/test_tampering.py`` looks fifty times as long.
"""

from __future__ import annotations

import io
import os
import random
import shutil
from pathlib import Path

import attrs
import pytest
from lively import quick_folder, record
from tampering import Tampering, damages, opened

from discernmem.eventlog import EventLog, Head
from discernmem.eventlog.errors import DiscernmemError
from discernmem.eventlog.export import export
from discernmem.eventlog.verify import verify_file

TIMES = int(os.environ.get("TAMPERING", "1"))
FLIPS = 60


@attrs.frozen
class Run:
    """A run's log, its head as kept elsewhere, and everything in it."""

    path: Path
    head: Head
    lines: bytes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = record(tmp_path_factory.mktemp("tampering"), 3, tasks=6)
    lines = io.BytesIO()
    with EventLog.open(path) as log:
        head = export(log, lines)
    assert head.position > 250
    assert verify_file(path, head=head).ok
    return Run(path, head, lines.getvalue())


@pytest.mark.parametrize("kind", damages())
def test_a_changed_removed_inserted_or_swapped_row_is_named_with_its_position(
    run: Run, kind: str
) -> None:
    damage = damages()[kind]
    for number in range(TIMES):
        with quick_folder() as folder:
            path = Path(shutil.copy(run.path, folder))
            with opened(path) as sql:
                positions = damage(Tampering(sql, random.Random(f"{kind} {number}")))
            problems = verify_file(path, head=run.head).problems
            named = {problem.position for problem in problems}
            assert named & set(positions), (number, positions, problems)


def test_a_flipped_bit_is_named_or_changes_nothing(run: Run) -> None:
    intact = run.path.read_bytes()
    dice = random.Random(11)
    silent = 0
    places = [(dice.randrange(len(intact)), dice.randrange(8)) for _ in range(FLIPS * TIMES)]
    # In the header of the file there is much that SQLite acts on.
    places += [(dice.randrange(16, 100), dice.randrange(8)) for _ in range(FLIPS * TIMES // 4)]
    for at, bit in places:
        with quick_folder() as folder:
            path = folder / "run.db"
            flipped = bytearray(intact)
            flipped[at] ^= 1 << bit
            path.write_bytes(flipped)
            if verify_file(path, head=run.head).ok:
                silent += 1
                lines = io.BytesIO()
                with EventLog.open(path) as log:
                    assert export(log, lines) == run.head, (at, bit)
                assert lines.getvalue() == run.lines, (at, bit)
    assert silent < len(places) / 2


def test_what_is_before_the_damage_can_be_saved(run: Run) -> None:
    intact = run.path.read_bytes()
    dice = random.Random(5)
    for _ in range(5 * TIMES):
        with quick_folder() as folder:
            path = folder / "run.db"
            broken = bytearray(intact)
            page = dice.randrange(1, len(intact) // 4096) * 4096
            broken[page : page + 4096] = dice.randbytes(4096)
            path.write_bytes(broken)
            save(path, run)


def save(path: Path, run: Run) -> None:
    """Export as many events as can be, whatever is broken."""
    report = verify_file(path, head=run.head)
    begin = min((p.position for p in report.problems if p.position), default=run.head.position + 1)
    lines = io.BytesIO()
    try:
        with EventLog.open(path, check=False) as log:
            export(log, lines, until=begin - 1)
    except DiscernmemError:
        # Where the facts themselves are gone there is nothing to export, and that is said.
        assert any(problem.position == 0 for problem in report.problems)
        return
    saved = lines.getvalue()
    assert run.lines.startswith(saved[: saved.rindex(b'{"head"')])
