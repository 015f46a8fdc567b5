"""The beginning of a log, read in order, with every link and every content proven on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from . import chain
from .blobs import unpack
from .chain import Head
from .checking import HEADER, linked
from .citations import citations
from .codec import decode
from .errors import LogError
from .files import Row
from .reading import PAGE, Readable

_COLUMNS = f"{HEADER}, cast(payload as blob), hash"
_BLOBS = 50
_ENDLESS = 1 << 62


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


def ending(log: Readable, until: int | None) -> Head:
    """The head of a log, or the head it had when it ended at ``until``.

    Raises:
        BadInput: it never ended there.
        LogError: the end is damaged; says up to where the log can be proven.
    """
    try:
        return log.head(until)
    except LogError:
        for _ in proven(log, _ENDLESS if until is None else until):
            pass
        raise


def proven(log: Readable, until: int) -> Iterator[Proven]:
    """The events up to a position, whatever may be behind it.

    Raises:
        LogError: one of them is damaged; those before it were given.
    """
    contents = _Contents(log)
    seen: set[bytes] = set()
    prev, last, size = chain.genesis(log.log_id), 0, PAGE
    while last < until:
        try:
            page = list(_proven(log, contents, seen, prev, last, min(size, until - last)))
        except LogError as error:
            if size > 1:
                # One by one, to tell which it is.
                size = 1
                continue
            remedy = f"`discernmem export --until {last}` saves what is before it"
            raise LogError(
                f"{log.path}: event {last + 1} is damaged, or what it cites is; "
                f"{remedy if last else 'nothing is before it: restore a copy'}"
            ) from error
        yield from page
        prev, last = page[-1].hash, page[-1].header[0]
        seen.update(sha256 for event in page for sha256, _ in event.contents)


def _proven(
    log: Readable, contents: _Contents, seen: set[bytes], prev: bytes, last: int, size: int
) -> Iterator[Proven]:
    rows = log.rows(
        # Up to the limit, not up to a position: SQLite would look at the row behind it.
        f"select {_COLUMNS} from events where position > ? order by position limit ?",
        (last, size),
    )
    if not rows:
        raise LogError("it is missing")
    links = _links(log, rows)
    here: set[bytes] = set()
    news = [
        [sha256 for sha256 in fresh(links.get(row[0], {}), here) if sha256 not in seen]
        for row in rows
    ]
    given = contents.of([sha256 for new in news for sha256 in new])
    for (*values, payload, hash_), new in zip(rows, news, strict=True):
        header = tuple(values)
        cited = links.get(header[0], {})
        if header[0] != last + 1 or not _follows(prev, header, payload, cited, hash_):
            raise LogError("it does not follow the one before")
        prev, last = hash_, header[0]
        yield Proven(header, payload, cited, hash_, tuple(islice(given, len(new))))


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


class _Contents:
    """Contents by SHA-256 of a log that may be damaged anywhere."""

    def __init__(self, log: Readable) -> None:
        self._log = log
        self._ids: dict[bytes, int] | None = None

    def of(self, digests: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Contents in the order asked for, some at a time.

        Raises:
            LogError: one is missing or damaged.
        """
        for start in range(0, len(digests), _BLOBS):
            some = digests[start : start + _BLOBS]
            found = self._found(some)
            for sha256 in some:
                if sha256 not in found:
                    raise LogError(f"blob {sha256.hex()[:12]} is missing")
                yield sha256, unpack(*found[sha256], sha256)

    def _found(self, some: Sequence[bytes]) -> dict[bytes, tuple[str, int, bytes]]:
        sql = "select sha256, codec, size, content from blobs where"
        try:
            rows = self._log.rows(f"{sql} sha256 in ({_marks(some)})", some)
        except LogError:
            # The index is damaged, or a content beside those asked for. The table may not be.
            ids = self._listed()
            known = [ids[sha256] for sha256 in some if sha256 in ids]
            rows = self._log.rows(f"{sql} id in ({_marks(known)})", known)
        return {sha256: (codec, size, packed) for sha256, codec, size, packed in rows}

    def _listed(self) -> dict[bytes, int]:
        """Where the contents are, as far as the table can be read from its beginning."""
        if self._ids is None:
            self._ids = {}
            sql = "select id, sha256 from blobs where id > ? order by id limit 1"
            after = 0
            while True:
                try:
                    ((id_, sha256),) = self._log.rows(sql, (after,))
                except (LogError, ValueError):
                    break
                if id_ <= after:
                    break
                self._ids[sha256], after = id_, id_
        return self._ids


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
