"""One split of a data set on the Hugging Face hub, fetched once and then found without a network.

``hf:OWNER/NAME`` may be followed by ``@REVISION`` (a branch, a tag or a commit) and by ``:CONFIG``,
in this order: ``hf:mandarjoshi/trivia_qa:rc.wikipedia.nocontext``.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from ...eventlog.errors import BadInput, Infrastructure
from .layout import split_files, surely_whole

_SPEC = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([^:\s]+))?(?::(\S+))?")


def fetch(source: str, split: str) -> tuple[str, tuple[Path, ...]]:
    """The commit and the files, in order, of one split.

    What the client's cache holds is taken first, where its names show that it is whole: asking the
    hub would need a network, and could give another commit than the last run had.

    Raises:
        BadInput: the name is malformed, or the data set has no such split or configuration.
        Infrastructure: the hub cannot be reached, or its client is not installed.
    """
    parsed = _SPEC.fullmatch(source)
    if parsed is None:
        raise BadInput(f"data set {source!r}: write hf:OWNER/NAME, hf:OWNER/NAME@REVISION:CONFIG")
    name, revision, config = parsed.groups()
    try:
        client = import_module("huggingface_hub")
    except ImportError:
        raise Infrastructure(
            f"data set {source!r} needs the hub's client: pip install 'discernmem[hub]', "
            "or download the file yourself and give its path"
        ) from None
    cached = _cached(client, name, revision, split, config)
    if cached is not None:
        return cached
    try:
        names = client.HfApi().list_repo_files(name, repo_type="dataset", revision=revision)
        files = split_files(names, split, config, source)
        paths = [_download(client, name, revision, file) for file in files]
    except BadInput:
        raise
    except Exception as error:  # the client's errors share no base and change between versions
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Infrastructure(
            f"data set {source!r} cannot be fetched ({reason}): download the files of its split "
            f"{split!r} elsewhere and give the path of the file or folder instead"
        ) from None
    (commit, *others) = {commit for commit, _ in paths}
    if others:
        raise Infrastructure(
            f"data set {source!r} changed while it was fetched: run again, or name a revision: "
            "hf:OWNER/NAME@REVISION"
        )
    return commit, tuple(path for _, path in paths)


def _cached(
    client: Any, name: str, revision: str | None, split: str, config: str | None
) -> tuple[str, tuple[Path, ...]] | None:
    missing = import_module("huggingface_hub.errors").LocalEntryNotFoundError
    try:
        found = client.snapshot_download(
            name, repo_type="dataset", revision=revision, local_files_only=True
        )
    except missing:
        return None
    folder = Path(found)
    held = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    try:
        files = split_files(held, split, config, name)
    except BadInput:
        return None  # Another split, or a part of this one: the hub knows the rest.
    if not surely_whole(files, split, config):
        return None
    return folder.name, tuple(folder / file for file in files)


def _download(client: Any, name: str, revision: str | None, file: str) -> tuple[str, Path]:
    path = Path(client.hf_hub_download(name, file, repo_type="dataset", revision=revision))
    # The client keeps a file under snapshots/COMMIT/, at its own place in the data set.
    return path.parents[file.count("/")].name, path
