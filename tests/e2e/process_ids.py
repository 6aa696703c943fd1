"""Processes that others have started, by their ids."""

import time
from pathlib import Path


def children_of(pid):
    """The ids of the processes that it has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in tasks for child in path.read_text().split()]


def await_gone(pids, limit=60):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        left = [pid for pid in pids if runs(pid)]
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"{left} still run")


def runs(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
