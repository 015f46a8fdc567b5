"""The beginning of a log, read in order, with every link and every content proven on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from . import chain
from .blobs import unpack
from .checking import HEADER, linked
from .citations import citations
from .codec import decode
from .errors import LogError
from .files import Row
from .reading import PAGE, Readable

_COLUMNS = f"{HEADER}, cast(payload as blob), hash"
_BLOBS = 50


class Proven(NamedTuple):
    """An event as it is stored: the values of a `chain.Header`, its payload, links and hash.

    ``links`` maps names to SHA-256 in hex; ``contents`` are the blobs that no event before cites,
    by SHA-256, in the order of the names.
    """

    header: Row
    payload: bytes
    links: dict[str, str]
    hash: bytes
    contents: tuple[tuple[bytes, bytes], ...]


def proven(log: Readable, until: int) -> Iterator[Proven]:
    """The events up to a position, whatever may be behind it.

    Raises:
        LogError: one of them is damaged; those before it were given.
    """
    seen: set[bytes] = set()
    prev, last = chain.genesis(log.log_id), 0
    while last < until:
        rows = log.rows(
            # Up to the limit, not up to a position: SQLite would look at the row behind it.
            f"select {_COLUMNS} from events where position > ? order by position limit ?",
            (last, min(PAGE, until - last)),
        )
        if not rows:
            raise LogError(f"{log.path}: event {last + 1} is missing; run verify")
        links = _links(log, rows)
        news = [fresh(links.get(row[0], {}), seen) for row in rows]
        contents = _contents(log, [sha256 for new in news for sha256 in new])
        for (*values, payload, hash_), new in zip(rows, news, strict=True):
            header = tuple(values)
            cited = links.get(header[0], {})
            if header[0] != last + 1 or not _follows(prev, header, payload, cited, hash_):
                raise LogError(f"{log.path}: event {header[0]} is damaged; run verify")
            prev, last = hash_, header[0]
            yield Proven(header, payload, cited, hash_, tuple(islice(contents, len(new))))


def _links(log: Readable, rows: list[Row]) -> dict[int, dict[str, str]]:
    try:
        return linked(log.rows, rows[0][0] - 1, rows[-1][0])
    except LogError:
        # The table is damaged, here or just behind. The hash proves these as well as those.
        return {row[0]: citations(decode(row[4], row[5], row[11])) for row in rows}


def fresh(links: dict[str, str], seen: set[bytes]) -> list[bytes]:
    """The blobs among ``links`` that are not ``seen`` yet, by their names; from now on they are."""
    new: list[bytes] = []
    for _, sha256 in sorted(links.items()):
        blob = bytes.fromhex(sha256)
        if blob not in seen:
            seen.add(blob)
            new.append(blob)
    return new


def _follows(prev: bytes, header: Row, payload: bytes, links: dict[str, str], hash_: bytes) -> bool:
    try:
        return chain.link(prev, header, payload, chain.links(links.items())) == hash_
    except TypeError:
        return False


def _contents(log: Readable, digests: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Contents by SHA-256 in the order asked for, some at a time."""
    for start in range(0, len(digests), _BLOBS):
        some = digests[start : start + _BLOBS]
        marks = ", ".join("?" * len(some))
        sql = f"select sha256, codec, size, content from blobs where sha256 in ({marks})"
        found = {row[0]: row for row in log.rows(sql, some)}
        for sha256 in some:
            if sha256 not in found:
                raise LogError(f"{log.path}: blob {sha256.hex()[:12]} is missing; run verify")
            _, codec, size, packed = found[sha256]
            try:
                yield sha256, unpack(codec, size, packed, sha256)
            except LogError as error:
                raise LogError(f"{log.path}: {error}; run verify") from None
