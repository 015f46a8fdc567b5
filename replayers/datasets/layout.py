"""Which files of a data set's folder hold one split of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ...eventlog.errors import BadInput

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".tsv")
"""The formats that are read; of a split that is there in several, the first is taken."""

_SHARD = re.compile(r"-(\d+)-of-(\d+)$")


def split_files(
    names: Iterable[str], split: str, config: str | None, source: str
) -> tuple[str, ...]:
    """The files of a split, in order: ``SPLIT-00000-of-00002.parquet``, ``SPLIT/0000.parquet``, …

    Args:
        names: paths inside the folder, with slashes.
        split: ``train``, ``validation``, ``test``.
        config: the folder of one configuration of the data set, or None where there is one only.
        source: the data set as the user named it, for messages.

    Raises:
        BadInput: no file holds that split, several configurations do, or a part is missing.
    """
    fits = [
        name
        for name in sorted(names)
        if _holds(PurePosixPath(name), split)
        and (config is None or config in PurePosixPath(name).parts[:-1])
    ]
    for suffix in SUFFIXES:
        found = tuple(name for name in fits if name.endswith(suffix))
        if found:
            break
    else:
        within = f" in configuration {config!r}" if config else ""
        raise BadInput(
            f"data set {source!r}: no file of split {split!r}{within} "
            f"({', '.join(SUFFIXES)}); give the path of the file instead"
        )
    folders = sorted({str(PurePosixPath(name).parent) for name in found})
    if len(folders) > 1:
        raise BadInput(
            f"data set {source!r}: split {split!r} lies in {', '.join(folders)}; "
            "name one: hf:OWNER/NAME:CONFIGURATION, or the path of its folder"
        )
    if _parts_missing(found):
        raise BadInput(
            f"data set {source!r}: {len(found)} files of split {split!r} are there, their names "
            "promise more; fetch the others"
        )
    return found


def surely_whole(files: Sequence[str], split: str, config: str | None) -> bool:
    """Whether the names alone show that these files are all of a split.

    They do where one file is called as the split, or where the parts name their number, in the
    folder of a configuration that was asked for or where a data set keeps its only one.
    """
    stems = [_stem(PurePosixPath(file).name) for file in files]
    alone = config is not None or str(PurePosixPath(files[0]).parent) in (".", "data")
    return alone and (stems == [split] or all(_SHARD.search(stem) for stem in stems))


def _parts_missing(files: Sequence[str]) -> bool:
    found = [_SHARD.search(_stem(PurePosixPath(file).name)) for file in files]
    return any(part is not None and int(part[2]) != len(files) for part in found)


def _holds(path: PurePosixPath, split: str) -> bool:
    if not path.name.endswith(SUFFIXES):
        return False
    named = re.fullmatch(rf"{re.escape(split)}(-\d+(-of-\d+)?)?", _stem(path.name))
    return named is not None or split in path.parts[:-1]


def _stem(name: str) -> str:
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name
