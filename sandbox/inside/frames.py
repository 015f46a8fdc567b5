"""Frames on a stream: four bytes of length, one byte of kind, the body."""

from __future__ import annotations

import os
import struct

HEADER = struct.Struct(">Ic")
MOST = 64 << 20

READY, LOAD, REQUEST, ANSWER = b"!", b"L", b"Q", b"A"
GONE, REPORT, INSIDE = b"D", b"R", b"I"


class FrameTooLong(Exception):
    """More than `MOST` bytes in one message."""


def packed(kind: bytes, body: bytes) -> bytes:
    """One frame.

    Raises:
        FrameTooLong: The body is longer than any reader accepts.
    """
    if len(body) > MOST:
        raise FrameTooLong
    return HEADER.pack(len(body), kind) + body


class Stream:
    """Frames over a file descriptor, waiting for each; the end of a jail."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, kind: bytes, body: bytes = b"") -> None:
        """Write one frame; raises FrameTooLong before anything is written."""
        rest = memoryview(packed(kind, body))
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def receive(self) -> tuple[bytes, bytes]:
        """Kind and body of the next frame; raises EOFError when there is none."""
        length, kind = HEADER.unpack(self._exactly(HEADER.size))
        return kind, self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self._descriptor, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
