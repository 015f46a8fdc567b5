"""Write the documentation anew where it shows what the code prints: ``update.py [PAGE ...]``.

What cannot be run is told of and left as it is; look at the difference before you commit it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from doc_pages import ROOT, name, pages
from doc_stage import rewrite


def main(arguments: Sequence[str]) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "generate.py"], check=True)
    for page in pages():
        if arguments and not any(word in name(page) for word in arguments):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for trouble in rewrite(page, Path(folder) / "page"):
                print(trouble)


if __name__ == "__main__":
    main(sys.argv[1:])
