"""A script's own socket to its engine, for steps: a message each way without gRPC.

    steps, theirs = StepSocket.pair(why_gone)    # The engine inherits `theirs`.
    reply = steps.run(request)                   # None: ask in another way.

Frames are those of meshwright/service/step_socket.h: two numbers, then so many bytes.
Whoever asks takes the socket and puts it back with the answer, so that one is never
in the middle of a frame: a call that is interrupted, or fails, drops the socket, and
what is called next goes another way, as it does while another thread waits.
"""

import os
import socket
import struct
import weakref
from collections.abc import Callable

from meshwright.client.loans import NoAnswer
from meshwright.errors import MeshwrightError

_HEADER = struct.Struct("=II")  # The size, and the protocol or an error's code.
_PROTOCOL = 1
_MAX_BYTES = (4 << 20) + (64 << 10)
_READ_BYTES = 64 << 10  # At first; most answers are smaller.

_all: "weakref.WeakSet[StepSocket]" = weakref.WeakSet()


class StepSocket:
    """Thread-safe."""

    @classmethod
    def pair(
        cls, why_gone: Callable[[], str]
    ) -> "tuple[StepSocket, socket.socket] | None":
        """None where there is no such thing. Neither end is inherited by itself.
        `why_gone` says why the other end is closed."""
        try:
            own, theirs = socket.socketpair(socket.AF_UNIX)
        except (AttributeError, OSError):
            return None
        return cls(own, theirs, why_gone), theirs

    def __init__(
        self, own: socket.socket, theirs: socket.socket, why_gone: Callable[[], str]
    ):
        self._idle = [own]  # Or none: it is in use, or gone.
        self._ends = own, theirs  # What a fork of this process must not keep.
        self._why_gone = why_gone
        _all.add(self)

    def run(self, request: bytes) -> bytes | None:
        """The answer; None if nothing was asked."""
        try:
            own = self._idle.pop()
        except IndexError:
            return None
        try:
            code, answer = _ask(own, request)
        except OSError:
            own.close()
            raise NoAnswer(self._why_gone()) from None
        except BaseException:
            own.close()
            raise
        self._idle.append(own)
        if code:
            raise MeshwrightError(" ".join(answer.decode(errors="replace").split()))
        return answer

    def close(self) -> None:
        """A call in progress ends with the engine."""
        if self._idle:
            self._idle.pop().close()

    def _forked(self) -> None:
        """In a fork: the socket is its parent's, and ends with it and the engine."""
        self._idle.clear()
        for end in self._ends:
            end.close()


def _ask(own: socket.socket, request: bytes) -> tuple[int, bytes]:
    own.sendall(_HEADER.pack(len(request), _PROTOCOL) + request)
    found = b""
    while len(found) < _HEADER.size:
        found += _received(own, _READ_BYTES)
    size, code = _HEADER.unpack_from(found)
    if size > _MAX_BYTES:
        raise OSError(f"an answer of {size} bytes")
    parts, missing = [found[_HEADER.size :]], size + _HEADER.size - len(found)
    while missing > 0:
        parts.append(_received(own, missing))
        missing -= len(parts[-1])
    if missing < 0:
        raise OSError("more than an answer")
    return code, parts[0] if len(parts) == 1 else b"".join(parts)


def _received(own: socket.socket, size: int) -> bytes:
    data = own.recv(size)
    if not data:
        raise ConnectionError("the other end is closed")
    return data


def _in_fork() -> None:
    for one in list(_all):
        one._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)
