"""What the server of the role gateway says no with."""

from __future__ import annotations

import attrs


@attrs.frozen
class NotServed(Exception):
    """A request that gets no answer: the HTTP status and the reason, one line for the client."""

    status: int
    reason: str

    def __str__(self) -> str:
        return self.reason
