"""From logits to a token, by rules and a seed that are wholly ours and so replayable."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

RULE = "temperature, then top-p, inverse of the cumulative distribution; Mersenne Twister; 1"


class Sampler:
    """Draws one token after another for one call."""

    def __init__(self, *, temperature: float, top_p: float, seed: int) -> None:
        self._temperature = temperature
        self._top_p = top_p
        self._random = random.Random(seed)

    def pick(self, logits: NDArray[np.float32]) -> int:
        """Index of the next token; ``-inf`` marks a token that is not allowed.

        Greedy at temperature 0, ties to the lowest index; otherwise one draw from the softmax of
        ``logits / temperature`` cut to the smallest set of tokens with mass ``top_p``.
        """
        if self._temperature <= 0:
            return int(np.argmax(logits))
        with np.errstate(over="ignore"):  # near temperature 0 the lesser tokens go to -inf
            scaled = (logits.astype(np.float64) - float(logits.max())) / self._temperature
        mass = np.exp(scaled)
        mass /= mass.sum()
        tokens = np.arange(mass.size)
        if self._top_p < 1:
            # Tokens below this floor hold at most 1 - top_p together, so the nucleus lies at or
            # above it and only a few tokens need sorting.
            floor = max(0.0, 1 - self._top_p) / mass.size
            tokens = np.flatnonzero(mass >= min(floor, float(mass.max())))
            tokens = tokens[np.argsort(-mass[tokens], kind="stable")]
            within = np.cumsum(mass[tokens])
            tokens = tokens[: int(np.searchsorted(within, self._top_p)) + 1]
        ladder = np.cumsum(mass[tokens])
        drawn = self._random.random() * float(ladder[-1])
        place = int(np.searchsorted(ladder, drawn, side="right"))
        return int(tokens[min(place, len(tokens) - 1)])
