"""Which rows of a data set a run plays, and in what order: an explicit list that can be kept.

Every order here is prefix-stable: a shorter run plays the beginning of a longer one, and a smaller
share is the beginning of a larger one. What looks drawn is an order by SHA-256 of seed and index,
so it is the same on every machine and in every version of Python.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import orjson

from ...eventlog.errors import BadInput
from .rows import Row, Rows

FORMAT = "discernmem manifest 1"


@attrs.frozen(kw_only=True)
class Manifest:
    """The rows to play, by index from 0, of one data set in one state.

    ``order`` says in plain JSON how the indices came about (rule, seed, share, start, column).
    ``source``, ``revision`` and ``data_digest`` are the data set's (`Rows`).
    """

    source: str
    revision: str | None
    data_digest: str
    order: Mapping[str, Any]
    indices: tuple[int, ...]

    @property
    def digest(self) -> str:
        """SHA-256 in hex over the data's digest and the indices, which are all that decides."""
        return hashlib.sha256(orjson.dumps([self.data_digest, self.indices])).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """Plain JSON for the run header: all but the indices, which the digest stands for."""
        return {
            "source": self.source,
            "revision": self.revision,
            "data_digest": self.data_digest,
            "order": dict(self.order),
            "items": len(self.indices),
            "digest": self.digest,
        }

    def rows(self, data: Rows) -> tuple[Row, ...]:
        """The rows in the order to play them.

        Raises:
            BadInput: the data set is another one, or in another state.
        """
        if data.digest != self.data_digest:
            raise BadInput(
                f"data set {data.source!r} is not the one the manifest was made of "
                f"({self.source!r}, revision {self.revision}): name that revision, "
                "or make a new manifest"
            )
        if (last := max(self.indices)) >= len(data.rows):
            raise BadInput(
                f"the manifest names row {last}, data set {data.source!r} ends at "
                f"{len(data.rows) - 1}: make a new manifest"
            )
        return tuple(data.rows[index] for index in self.indices)


def make_manifest(data: Rows, order: tuple[Mapping[str, Any], Sequence[int]]) -> Manifest:
    """A manifest of these rows in an order that `sequential`, `shared` or `stratified` gave."""
    said, indices = order
    return Manifest(
        source=data.source,
        revision=data.revision,
        data_digest=data.digest,
        order=dict(said),
        indices=tuple(indices),
    )


# -- orders: what is said of it, and the indices -------------------------------------------------


def sequential(size: int, *, start: int = 0) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The rows from ``start`` on, as they stand.

    Raises:
        BadInput: there is no row left.
    """
    _check_start(size, start)
    return {"rule": "sequential", "start": start}, tuple(range(start, size))


def shared(
    size: int, share: float, seed: int, *, start: int = 0
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """A share of the rows from ``start`` on, drawn and ordered by the seed.

    Args:
        size: the number of rows of the data set.
        share: above 0 and at most 1; the number is rounded to the nearest row, at least one.
        seed: decides which rows, and their order.
        start: the first row that may be drawn.

    Raises:
        BadInput: the share is no share, or there is no row left.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise BadInput(f"share is {share!r}; give a number above 0 and at most 1")
    _check_start(size, start)
    count = max(1, round((size - start) * share))
    ranked = sorted(range(start, size), key=lambda index: (_rank(seed, str(index)), index))
    said = {"rule": "share", "share": share, "seed": seed, "start": start}
    return said, tuple(ranked[:count])


def stratified(
    strata: Sequence[str], seed: int, *, column: str, start: int = 0
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """All rows from ``start`` on, every beginning of them mixed as the whole is.

    Each stratum is shuffled by the seed and spread evenly over the whole, from an offset that the
    seed gives it, so that the j-th of n comes at (j + offset) / n.

    Args:
        strata: the stratum of every row of the data set, those before ``start`` too.
        seed: decides the order.
        column: where the strata are from, for the record.
        start: the first row to play.

    Raises:
        BadInput: there is no row left.
    """
    _check_start(len(strata), start)
    members: dict[str, list[int]] = defaultdict(list)
    for index in range(start, len(strata)):
        members[strata[index]].append(index)
    placed: list[tuple[int, int, int]] = []
    for stratum, held in members.items():
        offset = _rank(seed, f"stratum {stratum}")
        ranked = sorted((_rank(seed, str(index)), index) for index in held)
        placed += [
            ((at * _RANKS + offset) // len(held), rank, index)
            for at, (rank, index) in enumerate(ranked)
        ]
    said = {"rule": "stratified", "column": column, "seed": seed, "start": start}
    return said, tuple(index for _, _, index in sorted(placed))


_RANKS = 2**64


def _rank(seed: int, what: str) -> int:
    """A number in [0, 2^64) that the seed gives to a thing."""
    return int.from_bytes(hashlib.sha256(f"{seed} {what}".encode()).digest()[:8], "big")


def _check_start(size: int, start: int) -> None:
    if not 0 <= start < size:
        raise BadInput(f"the stream starts at row {start}, the data set has {size}: give all of it")


# -- files ---------------------------------------------------------------------------------------


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Keep a manifest as a JSON file.

    Raises:
        BadInput: the file exists, or cannot be written.
    """
    plain = {"format": FORMAT, **manifest.facts, "indices": manifest.indices}
    try:
        with path.open("xb") as file:
            file.write(orjson.dumps(plain, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise BadInput(f"manifest {str(path)!r}: {error.strerror}; give a new file") from error


def read_manifest(path: Path) -> Manifest:
    """A manifest that `write_manifest` kept.

    Raises:
        BadInput: the file is not there, or is not what was written.
    """
    try:
        plain = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(
            f"manifest {str(path)!r}: {error.strerror}; name one that is there"
        ) from error
    except orjson.JSONDecodeError as error:
        raise BadInput(f"manifest {str(path)!r}: not JSON ({error.msg}); make it anew") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise BadInput(f"manifest {str(path)!r}: not a {FORMAT!r}; make it anew")
    try:
        manifest = Manifest(
            source=plain["source"],
            revision=plain["revision"],
            data_digest=plain["data_digest"],
            order=plain["order"],
            indices=tuple(plain["indices"]),
        )
        intact = {**manifest.facts, "format": FORMAT, "indices": list(manifest.indices)} == plain
    except (KeyError, TypeError, ValueError):
        intact = False
    if not intact:
        raise BadInput(f"manifest {str(path)!r}: altered since it was made; make it anew")
    if not manifest.indices or not all(type(at) is int and at >= 0 for at in manifest.indices):
        raise BadInput(
            f"manifest {str(path)!r}: names no rows; list at least one index from 0 on, "
            "or make it anew"
        )
    return manifest
