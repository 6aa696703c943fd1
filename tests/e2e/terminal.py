"""A terminal to run programs on: what they write, and what a person then sees.

    with Terminal(argv, columns=40) as terminal:
        terminal.wait()
    terminal.rows()      # The text on the screen, scrolled-off lines included.

The program has a pseudo-terminal as its controlling one, so that `press(CTRL_C)` is
the real thing; `pyte` interprets what it writes.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

CTRL_C = b"\x03"
ROWS = 50
# A bar with its count, or a spinner with its time.
PROGRESS = re.compile(r"\[#*\.*\] \d+/\d+|\w+ [|/\\-] (\d+ min )?\d+ s")


def environment(colour: str, **more: str) -> dict[str, str]:
    """Of a terminal that is 'colour', 'no-colour' or 'dumb'."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    env["TERM"] = "dumb" if colour == "dumb" else "xterm-256color"
    if colour == "no-colour":
        env["NO_COLOR"] = "1"
    return {**env, **more}


class Terminal:
    def __init__(self, argv, columns=80, colour="colour", cwd=None, env=None):
        self.columns = columns
        self.bytes = b""
        self.progress: list[str] = []  # Every state of the live line.
        self.most_progress_rows = 0
        self._screen = pyte.HistoryScreen(columns, ROWS, history=100_000, ratio=1)
        self._stream = pyte.ByteStream(self._screen)
        self._outer, self._inner = pty.openpty()
        size = struct.pack("HHHH", ROWS, columns, 0, 0)
        fcntl.ioctl(self._inner, termios.TIOCSWINSZ, size)
        self._settings = termios.tcgetattr(self._inner)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *map(str, argv)],
            stdin=self._inner,
            stdout=self._inner,
            stderr=self._inner,
            cwd=cwd,
            env={**environment(colour), **(env or {})},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._outer)
        os.close(self._inner)

    def press(self, key: bytes) -> None:
        os.write(self._outer, key)

    def wait(self, timeout: float = 120) -> int:
        """Until the program ends; its exit code, as a shell gives it."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"still running: {self.text()}"
            self.read(0.05)
        while self.read(0):
            pass
        code = self.process.returncode
        return 128 - code if code < 0 else code

    def wait_until_it_minds_signals(self) -> None:
        """Before that, Ctrl-C ends it as it ends any program that is loading."""
        status = f"/proc/{self.process.pid}/status"
        while self.process.poll() is None:
            with contextlib.suppress(OSError), open(status) as file:
                masks = dict(re.findall(r"(Sig\w+):\s*(\w+)", file.read()))
                # `meshwright` waits for SIGINT, ./mw catches SIGTERM.
                waits = int(masks.get("SigBlk", "0"), 16) >> (signal.SIGINT - 1) & 1
                catches = int(masks.get("SigCgt", "0"), 16) >> (signal.SIGTERM - 1) & 1
                if waits or catches:
                    return
            self.read(0.001)

    def read(self, seconds: float) -> bool:
        """Shows what comes within the time; whether anything did."""
        ready, _, _ = select.select([self._outer], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._outer, 65536)
        except OSError:
            return False
        self.bytes += data
        self._stream.feed(data)
        drawn = [row for row in self._screen.display if PROGRESS.search(row)]
        self.progress += [row.rstrip() for row in drawn]
        self.most_progress_rows = max(self.most_progress_rows, len(drawn))
        return True

    def rows(self) -> list[str]:
        """All rows, also those that have gone out at the top."""
        top = [
            "".join(line[x].data for x in range(self.columns)).rstrip()
            for line in self._screen.history.top
        ]
        rows = top + [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def text(self) -> str:
        return "\n".join(self.rows())

    def check_left_tidy(self) -> None:
        """No bar, the cursor visible at the start of a line, settings as before."""
        assert not PROGRESS.search(self.text()), self.text()
        assert self.most_progress_rows <= 1, self.progress
        assert not self._screen.cursor.hidden
        assert self._screen.cursor.x == 0, self.text()
        assert termios.tcgetattr(self._inner) == self._settings
