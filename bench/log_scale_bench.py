"""The log at full size: a million events, a hundred thousand blobs, 5,632 memories, 7,267 tasks.

    python bench/log_scale_bench.py [fraction]

The log is that of `tests/support/large_log.py`; it is generated once (minutes) and kept. Every arm
is a process of its own; memory is that process's peak, libraries included. Questions (`at`, `why`,
`page`) are random ones with everything they read in the file cache, in milliseconds: median and
95th percentile. The peers do the same on the same bytes, but check and link nothing: plain sqlite3,
and eventsourcing where it has the operation (`-` where it has not).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SUPPORT = ROOT / "tests" / "support"
SOURCES = ("large_log.py", "large_plan.py", "large_world.py", "staged_log.py", "lively.py")
OPERATIONS = (
    "append",
    "rebuild",
    "fill",
    "at",
    "why",
    "page",
    "report",
    "verify",
    "export",
    "import",
)
LEFT = {
    "append": ("append.db",),
    "append_sqlite": ("append.db",),
    "at_sqlite": ("stores.db",),
    "export_sqlite": ("bare.jsonl",),
    "import": ("import.db",),
    "report": ("report.html",),
    "import_sqlite": ("import.db",),
}
"""Files to delete after an arm, with what SQLite puts beside them."""
PEERS = {"append": "append_peer", "rebuild": "rebuild_peer", "why": "why_peer"}

GENERATE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from large_log import FULL, generate
generate(Path(sys.argv[2]), scale=FULL.scaled(float(sys.argv[3])))
"""


def large_log(fraction: float) -> Path:
    """The generated log, from where it was kept or made now."""
    sources = [*(SUPPORT / name for name in SOURCES), ROOT / "eventlog" / "schema.sql"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    venv = ROOT / ".venv"
    folder = (venv if venv.is_dir() else Path(tempfile.gettempdir())) / "large-logs"
    path = folder / f"{fraction:g}-{digest}.db"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        print("generating the log, once; at full size this takes minutes ...", file=sys.stderr)
        draft = folder / "draft.db"
        remove(folder, "draft.db")
        command = [sys.executable, "-c", GENERATE, str(SUPPORT), str(draft), str(fraction)]
        subprocess.run(command, check=True)
        draft.rename(path)
        draft.with_name("draft.db.head").rename(path.with_name(path.name + ".head"))
        remove(folder, "draft.db")
    return path


def measure(arm: str, log: Path, folder: Path) -> dict[str, Any]:
    """What one arm reports."""
    command = [sys.executable, str(ROOT / "bench" / "arms.py"), arm, str(log), str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    for name in LEFT.get(arm, ()):
        remove(folder, name)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def remove(folder: Path, name: str) -> None:
    """Delete a database and everything beside it."""
    for path in folder.glob(f"{name}*"):
        path.unlink()


def shown(found: dict[str, Any] | None) -> str:
    """A rate or a time, and the memory."""
    if found is None:
        return f"{'-':>20}{'':>9}"
    if "median" in found:
        value = f"{found['median']:.1f} / {found['p95']:.1f} ms"
    else:
        value = f"{found['events'] / found['seconds']:,.0f} events/s"
    return f"{value:>20}{found['megabytes']:>6.0f} MB"


def ratio(ours: dict[str, Any], other: dict[str, Any] | None) -> str:
    """How many times as long ours takes."""
    if other is None:
        return f"{'-':>7}"
    times = [
        found["median"] if "median" in found else found["seconds"] / found["events"]
        for found in (ours, other)
    ]
    return f"{times[0] / times[1]:>6.2f}x"


def main() -> None:
    """Make the log if it is not there, measure all arms, print a row as soon as it is known."""
    fraction = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    log = large_log(fraction)
    print(f"{fraction:g} of full size, {log.stat().st_size / 1e6:,.0f} MB")
    print(f"{'':<9}{'discernmem':>20}{'':>9}{'sqlite3':>20}{'':>9}{'x':>7}", end="")
    print(f"{'eventsourcing':>20}{'':>9}{'x':>7}")
    with tempfile.TemporaryDirectory(dir=log.parent) as name:
        folder = Path(name)
        for operation in OPERATIONS:
            ours = measure(operation, log, folder)
            bare = None if operation == "fill" else measure(f"{operation}_sqlite", log, folder)
            peer = measure(PEERS[operation], log, folder) if operation in PEERS else None
            line = f"{operation:<9}{shown(ours)}{shown(bare)}{ratio(ours, bare)}"
            line += f"{shown(peer)}{ratio(ours, peer)}"
            print(f"{line}  {ours['note']}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
