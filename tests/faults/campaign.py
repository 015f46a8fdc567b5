"""The crash and fault campaign: every fault tried, a table of what became of the log.

``campaign.py [--short] [NAME ...]`` tries all faults, or those whose name holds one of the words,
on as many processors as there are. Exit status 1 if anything was lost or not survived.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from faults.registry import FAULTS
from faults.stage import Fault, Trial, undisturbed

SHOWN = 5
"""Failed tries of a fault that are told of."""


def main(arguments: Sequence[str]) -> int:
    full = "--short" not in arguments
    words = [word for word in arguments if word != "--short"]
    chosen = [f for f in FAULTS if not words or any(word in f.name for word in words)]
    failed = False
    with ExitStack() as stack:
        calm = {reuse: stack.enter_context(undisturbed(reuse=reuse)) for reuse in (True, False)}
        print(f"{'fault':44} {'tried':>6} {'survived':>9} {'lost':>5} {'s':>6}  what a user sees")
        for fault in chosen:
            began = time.monotonic()
            trials = fault.try_all(calm[fault.reuse], full=full)
            failed |= report(fault, trials, time.monotonic() - began)
    return int(failed)


def report(fault: Fault, trials: Sequence[Trial], seconds: float) -> bool:
    """Print the lines of a fault; whether any try of it failed."""
    survived = sum(trial.survived for trial in trials)
    lost = sum(trial.lost for trial in trials)
    seen = sorted({trial.told for trial in trials if trial.told}) or [""]
    head = f"{fault.name:44} {len(trials):6} {survived:9} {lost:5} {seconds:6.0f}"
    print(f"{head}  {seen[0]}", flush=True)
    for told in seen[1:4]:
        print(f"{'':{len(head)}}  {told}")
    wrong = [trial.why for trial in trials if trial.why]
    for why in wrong[:SHOWN]:
        print(f"  FAILED {why}", flush=True)
    if len(wrong) > SHOWN:
        print(f"  and {len(wrong) - SHOWN} more", flush=True)
    return survived < len(trials)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
