"""Model files: is this a GGUF at all, and what is its digest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from ...eventlog.errors import BadInput

_MAGIC = b"GGUF"


def check_gguf(path: Path) -> None:
    """Refuse a file that llama.cpp could not load, before the library is loaded.

    Raises:
        BadInput: the file is missing, unreadable or has another format.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"model file {path}: {reason}; give the path of a GGUF file") from None
    if magic != _MAGIC:
        raise BadInput(f"model file {path} is not GGUF: it starts with {magic!r}")


def file_digest(path: Path) -> str:
    """SHA-256 of a file, remembered per path, size and modification time.

    A model of several gigabytes takes seconds to read, so the answer is kept in the user's cache
    folder; a cache that cannot be read or written changes nothing but time.

    Raises:
        BadInput: the file cannot be read.
    """
    try:
        status = path.stat()
        key: list[str | int] = [str(path.resolve()), status.st_size, status.st_mtime_ns]
        cache = _cache_file(key)
        with contextlib.suppress(OSError, ValueError):
            entry = json.loads(cache.read_text("utf-8"))
            if isinstance(entry, dict) and entry.get("key") == key:
                return str(entry["sha256"])
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"model file {path}: {error.strerror or error}") from None
    with contextlib.suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        draft = cache.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"key": key, "sha256": found}), "utf-8")
        draft.replace(cache)
    return found


def _cache_file(key: list[str | int]) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    return Path(root) / "discernmem" / "digests" / f"{name}.json"
