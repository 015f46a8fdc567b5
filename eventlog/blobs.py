"""Texts and arrays too large for a payload, stored once under the SHA-256 of their content."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable

import zstandard

from .errors import LogError

COMPRESS_ABOVE = 1000
"""Contents above this many bytes are compressed; shorter ones stay readable with SQL alone."""

LEVEL = 3


def store(connection: sqlite3.Connection, contents: Iterable[tuple[bytes, bytes]]) -> None:
    """Store contents under their SHA-256, 32 bytes, each unless it is there already."""
    connection.executemany(
        "insert into blobs (sha256, size, codec, content) select ?1, ?2, ?3, ?4"
        " where not exists (select 1 from blobs where sha256 = ?1)",
        ((sha256, len(content), *pack(content)) for sha256, content in contents),
    )


def stored(connection: sqlite3.Connection, sha256: bytes) -> bool:
    """Whether a content with this SHA-256 is stored."""
    row = connection.execute("select 1 from blobs where sha256 = ?", (sha256,)).fetchone()
    return row is not None


def pack(content: bytes) -> tuple[str, bytes]:
    """The codec and the bytes to store for a content."""
    if len(content) > COMPRESS_ABOVE:
        packed = zstandard.ZstdCompressor(level=LEVEL).compress(content)
        if len(packed) < len(content):
            return "zstd", packed
    return "none", content


def unpack(codec: str, size: int, packed: bytes, sha256: bytes) -> bytes:
    """The content of a stored blob.

    Raises:
        LogError: it is not the content the digest was made of.
    """
    name = sha256.hex()[:12]
    try:
        content = packed
        if codec == "zstd":
            content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        elif codec != "none":
            raise ValueError(f"codec {codec!r} is unknown")
        if len(content) != size:
            raise ValueError(f"it has {len(content)} bytes, not {size}")
        intact = hashlib.sha256(content).digest() == sha256
    except (zstandard.ZstdError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise LogError(f"blob {name} is damaged: {error}") from None
    if not intact:
        raise LogError(f"blob {name} is damaged: its content has another digest")
    return content
