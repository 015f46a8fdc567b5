"""Installed distributions that offer plugins, as an installer would have left them on the path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def offer(
    site: Path, distribution: str, group: str, offers: Mapping[str, str], *, module: str = ""
) -> Path:
    """Install ``distribution`` in the folder ``site``.

    ``offers`` maps names in ``group`` to objects; ``module`` is the source of the module called
    as the distribution.
    """
    info = site / f"{distribution}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in offers.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    (site / f"{distribution}.py").write_text(module)
    return site
