"""Paths in the checkout, and how stamps and locks are stored there."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOG = BUILD / "log"
VENV = ROOT / ".venv"
VENV_JAX_OLD = ROOT / ".venv-jax-old"
VENV_LAUNCHERS = ROOT / ".venv-launchers"
CLI = BUILD / "release" / "meshwright" / "cli" / "meshwright"
PATIENCE_S = 1.0  # Shorter waits for another ./mw are not reported.
# Child processes need it to find the built CLI, which finds `.venv` by itself.
RUNTIME_ENV = {"MESHWRIGHT_BIN": str(CLI)}


class UserError(Exception):
    """An error that the user can fix; shown as one line, exit code 2."""


class StepFailed(Exception):
    """A failed step; `excerpt` is the relevant part of its output."""

    def __init__(self, message: str, excerpt: str = ""):
        super().__init__(message)
        self.excerpt = excerpt


def relative(path: Path) -> str:
    """`path` relative to the checkout, for messages."""
    try:
        return str(Path(path).relative_to(ROOT))
    except ValueError:
        return str(path)


def fingerprint(*parts: object) -> str:
    """A hash of texts and of the contents of files (given as Path)."""
    digest = hashlib.sha256(str(ROOT).encode())
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def stamp_matches(stamp: Path, value: str) -> bool:
    try:
        return stamp.read_text() == value
    except OSError:
        return False


def write_stamp(stamp: Path, value: str) -> None:
    """Writes atomically, so that an interrupted step leaves no stamp."""
    stamp.parent.mkdir(parents=True, exist_ok=True)
    part = stamp.with_name(stamp.name + ".part")
    part.write_text(value)
    os.replace(part, stamp)


def is_locked(name: str) -> bool:
    """Whether some ./mw holds `locked(name)` and is at work."""
    try:
        with open(BUILD / "lock" / name) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class Lock:
    """Held by one ./mw; the others can see whether it is at work or only checks
    something."""

    def __init__(self, handle):
        self._handle = handle

    def take(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._handle.truncate(0)
        return True

    def at_work(self) -> None:
        """Called by the holder once others have something to wait for."""
        if not self.is_at_work():
            os.pwrite(self._handle.fileno(), b"at work", 0)

    def is_at_work(self) -> bool:
        return os.fstat(self._handle.fileno()).st_size > 0


@contextlib.contextmanager
def locked(name: str, waiting=lambda: None):
    """Prevents two ./mw from working on the same thing at the same time.

    Yields the Lock. Calls `waiting` once if the wait is long and the holder is at work.
    """
    folder = BUILD / "lock"
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    said = False
    with open(folder / name, "a") as handle:
        lock = Lock(handle)
        while not lock.take():
            lasts = time.monotonic() - started > PATIENCE_S
            if lasts and not said and lock.is_at_work():
                waiting()
                said = True
            time.sleep(0.05)
        yield lock
