"""Notices a generation that runs in circles, so that it ends as a named failure, not at the cap."""

from __future__ import annotations

LONGEST_PERIOD = 64
MIN_REPEATED = 64
MIN_PERIODS = 4
MAX_BLANKS = 128


class RepetitionWatch:
    """Follows the tokens of one answer.

    An answer is a repetition when its tail of at least ``MIN_REPEATED`` tokens consists of
    ``MIN_PERIODS`` or more equal pieces of at most ``LONGEST_PERIOD`` tokens, or when it ends in
    ``MAX_BLANKS`` bytes of white space.
    """

    def __init__(self) -> None:
        self._tokens: list[int] = []
        # _runs[p]: for how many tokens in a row each has equalled the one p places before it.
        self._runs = [0] * (LONGEST_PERIOD + 1)
        self._blanks = 0

    def feed(self, token: int, piece: bytes) -> bool:
        """Take the next token and its bytes; True when the answer has become a repetition."""
        tokens = self._tokens
        count = len(tokens)
        circling = False
        for period in range(1, min(LONGEST_PERIOD, count) + 1):
            if tokens[count - period] == token:
                self._runs[period] += 1
                tail = self._runs[period] + period
                circling |= tail >= max(MIN_REPEATED, MIN_PERIODS * period)
            else:
                self._runs[period] = 0
        tokens.append(token)
        solid = piece.rstrip()
        self._blanks = len(piece) - len(solid) + (0 if solid else self._blanks)
        return circling or self._blanks >= MAX_BLANKS
