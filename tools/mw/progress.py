"""Shows progress on stderr: one live line on a terminal, otherwise lines."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time

SHOW_AFTER_S = 0.7  # Shorter work is not shown.
HEARTBEAT_S = 10.0


def duration(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Task:
    """One running piece of work."""

    def __init__(self, title: str):
        self.title = title
        self.text = ""
        self.started = time.monotonic()
        self.shown_at: float | None = None
        self.processor_s = 0.0
        self._lock = threading.Lock()

    def update(self, text: str) -> None:
        self.text = text

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def add_processor(self, seconds: float) -> None:
        """Of a process that has ended, with those that it has waited for."""
        with self._lock:
            self.processor_s += seconds

    def line(self) -> str:
        return f"{self.title}: {self.text or 'working'} ({duration(self.seconds())})"


class Display:
    """All running tasks; safe to use from several threads."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        # Other outputs cannot redraw a line: they get a new line now and then.
        dumb = os.environ.get("TERM", "dumb") == "dumb"
        self._live = self._stream.isatty() and not dumb
        self._tasks: dict[int, Task] = {}
        self._lock = threading.Lock()
        self._ticker: threading.Thread | None = None
        self._drawn = 0  # Columns drawn.

    def say(self, line: str) -> None:
        with self._lock:
            self._erase()
            self._write(line + "\n")

    def start(self, title: str) -> Task:
        task = Task(title)
        with self._lock:
            self._tasks[id(task)] = task
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, daemon=True)
                self._ticker.start()
        return task

    def finish(self, task: Task, word: str | None) -> None:
        """Ends `task`; prints `word` if it is given and the task took a while."""
        with self._lock:
            self._tasks.pop(id(task), None)
            self._erase()
        if word and (task.shown_at is not None or task.seconds() > SHOW_AFTER_S):
            self.say(f"{task.title}: {word} ({duration(task.seconds())})")

    def _tick(self) -> None:
        while True:
            time.sleep(0.2 if self._live else 0.5)
            with self._lock:
                now = time.monotonic()
                due = [t for t in self._tasks.values() if self._due(t, now)]
                for task in due:
                    task.shown_at = now
                if not due:
                    continue
                if self._live:
                    self._draw(" | ".join(task.line() for task in due))
                else:
                    self._write("".join(task.line() + "\n" for task in due))

    def _due(self, task: Task, now: float) -> bool:
        if task.shown_at is None or self._live:
            return now - task.started > SHOW_AFTER_S
        return now - task.shown_at > HEARTBEAT_S

    def _draw(self, line: str) -> None:
        # The width of stderr, since stdout may be a file. A terminal appends ^C.
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = shutil.get_terminal_size().columns
        width = max(4, (columns or 80) - 3)
        if len(line) > width:
            line = line[: width - 3] + "..."
        self._write("\r" + line + " " * max(0, self._drawn - len(line)))
        self._drawn = len(line)

    def _erase(self) -> None:
        if self._drawn:
            self._write("\r" + " " * (self._drawn + 2) + "\r")
            self._drawn = 0

    def _write(self, text: str) -> None:
        # The reader may have gone; the work continues nevertheless.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


display = Display()
