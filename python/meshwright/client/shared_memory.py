"""Memory that a script shares with its engine, so that arrays are not sent.

    memory = SharedMemory.create()      # None where there is no such thing.
    region = memory.take(1 << 20)       # None when all of it is in use.
    np.copyto(region.array(dtype, shape), batch)
    region.give_back()

It is a memfd, which the engine inherits, or a coordinator of this machine is sent
(`share_with`): it has no name that others could open, and
goes when both processes are gone, however they end. It is sealed against shrinking,
or an engine that reads it could be ended by a script that cuts it short. Of its size,
only what is in use takes memory; that is allocated before it is used, so that too
little of it is an error here and not a signal there.
"""

import contextlib
import ctypes
import mmap
import os
import socket
import threading
import weakref
from collections import OrderedDict, deque

# Of those that are given back, so much stays in memory for the next of their size:
# making pages takes longer than filling them.
_KEPT_BYTES = 512 << 20
_KEPT_AT_MOST = 256 << 20  # Of one region.
_PART_OF_MACHINE = 2  # A half.
_SHARE_SECONDS = 5

_all: "weakref.WeakSet[SharedMemory]" = weakref.WeakSet()


class SharedMemory:
    """Thread-safe. Arrays in it outlive `close`."""

    @classmethod
    def create(cls) -> "SharedMemory | None":
        try:
            import fcntl

            machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            fd = os.memfd_create("meshwright", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        except (AttributeError, ImportError, OSError, ValueError):
            return None  # No Linux, or a sandbox.
        try:
            size = _rounded(machine // _PART_OF_MACHINE)
            os.ftruncate(fd, size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
            return cls(fd, size)
        except (AttributeError, OSError, ValueError, OverflowError):
            os.close(fd)
            return None

    def __init__(self, fd: int, size: int):
        """Owns `fd`, of a file of that size."""
        self._map = mmap.mmap(fd, size)
        with contextlib.suppress(AttributeError, OSError):
            self._map.madvise(mmap.MADV_DONTDUMP)
        self.fd: int | None = fd
        self._process = os.getpid()
        self._lock = threading.Lock()  # Guards what follows, to `_returned`.
        self._free = [(0, size)]  # Without memory behind them, in order.
        self._kept: OrderedDict[int, list[int]] = OrderedDict()  # By size, offsets.
        self._kept_bytes = 0
        # Given back and not yet seen to: that happens at any instruction, wherever an
        # array dies, and so takes no lock.
        self._returned: deque[tuple[int, int]] = deque()
        self._forks = 0
        _all.add(self)

    def take(self, size: int) -> "Region | None":
        if self._process != os.getpid():
            return None  # A fork of the script: the memory is not its own.
        with self._lock:
            if self.fd is None:
                return None
            self._take_back()
            rounded = _rounded(size)
            offset = self._find(rounded)
        return None if offset is None else Region(self, offset, size)

    def close(self) -> None:
        """Gives out no more."""
        with self._lock:
            if self.fd is not None:
                os.close(self.fd)
                self.fd = None

    def _find(self, size: int) -> int | None:
        if self._kept.get(size):
            self._kept.move_to_end(size)
            self._kept_bytes -= size
            return self._kept[size].pop()
        for i, (start, room) in enumerate(self._free):
            if room < size:
                continue
            try:
                os.posix_fallocate(self.fd, start, size)
            except OSError:
                self._empty(start, size)  # What of it there is.
                return None
            self._free[i] = start + size, room - size
            if room == size:
                del self._free[i]
            return start
        return None

    def _take_back(self) -> None:
        while self._returned:
            offset, size = self._returned.popleft()
            if size > _KEPT_AT_MOST:  # Emptied when it was given back.
                self._add_free(offset, size)
                continue
            self._kept.setdefault(size, []).append(offset)
            self._kept_bytes += size
        while self._kept_bytes > _KEPT_BYTES:
            size, offsets = next(iter(self._kept.items()))
            if not offsets:
                del self._kept[size]
                continue
            offset = offsets.pop()
            self._kept_bytes -= size
            self._empty(offset, size)
            self._add_free(offset, size)

    def _add_free(self, offset: int, size: int) -> None:
        merged = []
        for start, room in sorted([*self._free, (offset, size)]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = merged[-1][0], merged[-1][1] + room
            else:
                merged.append((start, room))
        self._free = merged

    def _empty(self, offset: int, size: int) -> None:
        with contextlib.suppress(OSError):
            self._map.madvise(mmap.MADV_REMOVE, offset, size)

    def _give_back(self, offset: int, size: int, forks: int | None = None) -> None:
        # What a fork of the script may still look at is not used again.
        if self._process != os.getpid() or forks not in (None, self._forks):
            return
        rounded = _rounded(size)
        if rounded > _KEPT_AT_MOST:
            self._empty(offset, rounded)
        self._returned.append((offset, rounded))

    def _forked(self) -> None:
        self._forks += 1


def share_with(name: str) -> "tuple[SharedMemory, socket.socket, str] | None":
    """New memory, shared with the coordinator that listens at this abstract Unix socket
    as long as the connection is open, and its key for calls. None if that is not on
    this machine, or has none (meshwright/wire/memory_shares.h)."""
    if not name:
        return None
    with contextlib.ExitStack() as undo:
        try:
            own = undo.enter_context(socket.socket(socket.AF_UNIX))
            own.settimeout(_SHARE_SECONDS)
            own.connect("\0" + name)
            memory = SharedMemory.create()
            if memory is None:
                return None
            undo.callback(memory.close)
            socket.send_fds(own, [b"m"], [memory.fd])
            key = own.recv(100).decode("ascii")
        except (AttributeError, OSError, ValueError):
            return None
        if not key:
            return None
        undo.pop_all()
        return memory, own, key


class Region:
    """Part of it, until it is given back or the array made of it is gone."""

    def __init__(self, memory: SharedMemory, offset: int, size: int):
        self._memory, self.offset, self.size = memory, offset, size

    def array(self, dtype, shape):
        """A NumPy array of what is in it."""
        return _as_array(self._bytes(), dtype, shape)

    def give_back(self) -> None:
        self._memory._give_back(self.offset, self.size)

    def abandon(self) -> None:
        """It is not used again: somebody may still write to it."""
        memory = self._memory
        memory._empty(self.offset, _rounded(self.size))

    def into_array(self, dtype, shape):
        """The same; gives it back when neither the array nor a view of it is left."""
        owner, memory = self._bytes(), self._memory
        last = weakref.finalize(
            owner, memory._give_back, self.offset, self.size, memory._forks
        )
        last.atexit = False
        return _as_array(owner, dtype, shape)

    def _bytes(self) -> ctypes.Array:
        return (ctypes.c_char * self.size).from_buffer(self._memory._map, self.offset)


def _as_array(owner: ctypes.Array, dtype, shape):
    import numpy as np

    return np.frombuffer(owner, np.uint8).view(dtype).reshape(shape)


def _rounded(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _before_fork() -> None:
    for memory in list(_all):
        memory._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
