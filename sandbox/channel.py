"""Frames to and from a jail that may say anything, or nothing; never waits by itself."""

from __future__ import annotations

import select
import socket
import time

from .inside.frames import HEADER, MOST, FrameTooLong, packed


class Channel:
    """This side of the socket to one jail.

    Attributes:
        closed: The other side has closed it, or broke the rules of framing.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._in = bytearray()
        self._out = bytearray()
        self.closed = False

    def fileno(self) -> int:
        """The descriptor, for select."""
        return self._end.fileno()

    @property
    def writing(self) -> bool:
        """Whether something waits to be taken by the other side."""
        return bool(self._out) and not self.closed

    def send(self, kind: bytes, body: bytes = b"") -> None:
        """Queue a frame; raises FrameTooLong."""
        self._out += packed(kind, body)
        self.push()

    def push(self) -> None:
        """Hand over as much as the other side takes now."""
        try:
            while self._out and not self.closed:
                sent = self._end.send(memoryview(self._out)[: 1 << 18])
                del self._out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True

    def pull(self) -> None:
        """Take what has arrived."""
        try:
            part = self._end.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if part:
            self._in += part
        else:
            self.closed = True

    @property
    def full(self) -> bool:
        """Whether a frame waits to be taken; until then no more is read, whatever is said."""
        if len(self._in) < HEADER.size:
            return False
        length: int = HEADER.unpack_from(self._in)[0]
        return length > MOST or len(self._in) >= HEADER.size + length

    def frame(self) -> tuple[bytes, bytes] | None:
        """The next whole frame, if it is here; raises FrameTooLong for one nobody should read."""
        if len(self._in) < HEADER.size:
            return None
        length, kind = HEADER.unpack_from(self._in)
        if length > MOST:
            raise FrameTooLong
        end = HEADER.size + length
        if len(self._in) < end:
            return None
        body = bytes(memoryview(self._in)[HEADER.size : end])
        del self._in[:end]
        return kind, body

    def drain(self, seconds: float) -> None:
        """Wait until the other side is gone, dropping what it says; at most so long."""
        last = time.monotonic() + seconds
        while not self.closed and (left := last - time.monotonic()) > 0:
            self._in.clear()
            exchange([self], left)

    def close(self) -> None:
        """Close this side."""
        self._end.close()
        self.closed = True


def exchange(channels: list[Channel], seconds: float) -> None:
    """Wait for any of the channels to move, at most so long, and move it."""
    poll = select.poll()
    for channel in channels:
        wanted = 0 if channel.full else select.POLLIN
        wanted |= select.POLLOUT if channel.writing else 0
        if wanted and not channel.closed:
            poll.register(channel, wanted)
    moved = dict(poll.poll(max(0.0, seconds) * 1000))
    for channel in channels:
        events = 0 if channel.closed else moved.get(channel.fileno(), 0)
        if events & select.POLLOUT:
            channel.push()
        if events & ~select.POLLOUT:
            channel.pull()
