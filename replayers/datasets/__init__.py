"""Published data sets: their rows from a file or the hub, and which of them a run plays."""

from .manifests import (
    Manifest,
    make_manifest,
    read_manifest,
    sequential,
    shared,
    stratified,
    write_manifest,
)
from .rows import Row, Rows, read_rows

__all__ = [
    "Manifest",
    "Row",
    "Rows",
    "make_manifest",
    "read_manifest",
    "read_rows",
    "sequential",
    "shared",
    "stratified",
    "write_manifest",
]
