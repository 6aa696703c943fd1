"""A coordinator, workers and clients as processes whose lines are read."""

import os
import queue
import re
import signal
import subprocess
import threading
import time

from conftest import BINARY

TIMEOUT = 600


class Process:
    """A command whose lines, stdout and stderr together, are read as they come."""

    def __init__(self, *args, env=None):
        self.lines = []
        self._new = queue.Queue()
        self.process = subprocess.Popen(
            [BINARY, *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | (env or {}),
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def wait_for(self, pattern):
        """The match of the next line that has one."""
        end = time.monotonic() + TIMEOUT
        while True:
            line = self._new.get(timeout=max(0.1, end - time.monotonic()))
            assert line is not None, (pattern, self.lines)
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        return self.process.wait(timeout=TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Serve(Process):
    def __init__(self, *args, command="serve", **kwargs):
        super().__init__(command, "--listen", "127.0.0.1:0", *args, **kwargs)
        self.address = self.wait_for(r"^serving on (127\.0\.0\.1:\d+); 0 ")[1]

    def worker(self, *args, **kwargs):
        joined = ("--join", self.address, "--platform", "cpu", *args)
        return Process("worker", *joined, **kwargs)
