"""Which memories a role is shown, and the texts that similarity is measured between (Eq. 13).

Similarities are rounded before anything is decided by them, and the rounding is of the exact dot
product, so a decision does not depend on the order in which a machine adds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ..eventlog import events as ev
from ..projections.store import Memory, MemoryStore

SIMILARITY_DECIMALS: Final = 6
_SCALE: Final = 10.0**SIMILARITY_DECIMALS

# In units of the last decimal kept: a dot product of unit vectors below a million dimensions is off
# by less than this in whatever order it is summed, so only one as near to a tie need be exact.
_DOUBTFUL: Final = 1e-3


def retrieve(
    similarities: Mapping[str, float], memories: Sequence[Memory], *, theta: float, k: int
) -> tuple[ev.Candidate, ...]:
    """The ``k`` memories nearest to a context, of those at least ``theta`` near (Eq. 13).

    Args:
        similarities: cosine by memory id, for each of ``memories``.
        memories: the eligible memories, as `eligible` gives them.
        theta: least similarity, itself included.
        k: most memories.

    Returns:
        Candidates by falling similarity; ties by rising memory number.

    Raises:
        KeyError: a memory has no similarity.
    """
    rated = [(_rounded(similarities[memory.id]), memory) for memory in memories]
    near = sorted(
        (pair for pair in rated if pair[0] >= theta), key=lambda pair: (-pair[0], pair[1].number)
    )
    return tuple(
        ev.Candidate(memory=memory.id, similarity=similarity) for similarity, memory in near[:k]
    )


def eligible(store: MemoryStore, role: str, *, owned: bool) -> list[Memory]:
    """The provisional and active memories that may be retrieved for a role, oldest first.

    Only its own if ``owned``, else those of every role (App. C, without meta-memory).
    """
    if owned:
        return store.eligible(role)
    return [memory for memory in store.ordered() if memory.state != "inactive"]


def inject(
    candidates: Sequence[ev.Candidate], selected: Collection[str], k_inj: int
) -> tuple[str, ...]:
    """The memories handed to the role: the selected ones in similarity order, at most ``k_inj``."""
    return tuple(each.memory for each in candidates if each.memory in selected)[:k_inj]


def text_of(body: str, use_when: Sequence[str]) -> str:
    """The text a memory is found by: body and use conditions, one a line (Eq. 13)."""
    return _lines(body, *use_when)


def observed(contexts: Sequence[str]) -> str:
    """What the roles that received a memory had seen, as one text; of one role just that."""
    return "\n\n".join(contexts)


def receivers(roles: Sequence[str]) -> str:
    """The roles that were given a memory, as decisions about it are told: mostly its owner."""
    return " and ".join(roles)


def query_for_related(
    body: str,
    use_when: Sequence[str],
    avoid_when: Sequence[str],
    capabilities: Sequence[ev.Capability],
    defect: str,
) -> str:
    """The query for related tasks: body, scope, capability record, diagnosed defect (A.2)."""
    corrections = (capability.correction for capability in capabilities)
    return _lines(body, *use_when, *avoid_when, *corrections, defect)


def query_for_calibration(body: str, use_when: Sequence[str], source_task_text: str) -> str:
    """The query for calibration tasks: body, use conditions, source task description (A.2)."""
    return _lines(body, *use_when, source_task_text)


def cosine(a: bytes, b: bytes) -> float:
    """The cosine of two unit vectors of little-endian float32, to 6 decimals.

    Raises:
        ValueError: the vectors differ in dimension.
    """
    left, right = _decode(a), _decode(b)
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} dimensions have no cosine")
    return _exact(left, right)


def cosines(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """`cosine` of ``query`` with each of ``vectors``, equal to it to the bit but faster.

    Raises:
        ValueError: a vector differs in dimension from ``query``.
    """
    if any(len(vector) != len(query) for vector in vectors):
        raise ValueError(f"every vector must have the query's {len(query) // 4} dimensions")
    if not vectors:
        return []
    left = _decode(query)
    matrix = _decode(b"".join(vectors)).reshape(len(vectors), left.size)
    scaled = matrix @ left * _SCALE
    found: list[float] = (np.rint(scaled) / _SCALE + 0.0).tolist()
    for row in np.flatnonzero(np.abs(scaled % 1.0 - 0.5) < _DOUBTFUL):
        found[row] = _exact(left, matrix[row])
    return found


def _decode(vector: bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(vector, dtype="<f4").astype(np.float64)


def _exact(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> float:
    # Products of float32 are exact in float64, and fsum rounds once.
    return _rounded(math.fsum((left * right).tolist()))


def _rounded(similarity: float) -> float:
    return round(similarity, SIMILARITY_DECIMALS) + 0.0


def _lines(*parts: str) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())
