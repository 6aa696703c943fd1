"""Combines the metrics of a step and passes them to the sinks.

A step's duration and loss come with its reply, other metrics from the service's Watch
stream, a little earlier or later. A thread joins the two and writes to the sinks, so
that a step never waits for them.
"""

import atexit
import contextlib
import queue
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Mapping, Sequence

from meshwright.errors import MeshwrightError, MeshwrightWarning, in_one_line
from meshwright.metrics.lines import above_bars
from meshwright.metrics.sink import Sink

_MAX_WAITING = 10_000  # Records; further ones are dropped.
_LINE_SECONDS = 1.0  # How long a record waits for the service's figures.
_CLOSE_SECONDS = 10.0


class Recorder:
    """`add` and `watch`, called by the training thread, return at once."""

    def __init__(self, sinks: Sequence[Sink]):
        self._sinks = list(sinks)
        self._last_time: float | None = None
        self._watched: set[int] = set()
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._writer: _Writer | None = None
        self._warned: set[object] = set()

    def attach(self, sink: Sink) -> None:
        self._sinks.append(sink)

    def detach(self, sink: Sink) -> None:
        self._sinks.remove(sink)

    def watch(self, service, job: int) -> None:
        """Follows the job from now on, if possible before its first step."""
        if not self._sinks or job in self._watched:
            return
        self._watched.add(job)
        self._start()
        threading.Thread(
            target=_follow, args=(service, job, self._queue), daemon=True
        ).start()

    def add(
        self, service, job: int, done: Sequence, scalars: Mapping, so_far: int
    ) -> None:
        """Adds finished steps (`messages.StepDone`), the last of which is number
        `so_far`, and the scalars that the last one returned."""
        if not self._sinks:
            return
        first = so_far - len(done) + 1
        self.watch(service, job)
        now = time.time()
        interval = None
        if self._last_time is not None and done:
            interval = (now - self._last_time) / len(done)
        self._last_time = now
        for i, one in enumerate(done):
            record = {"step": first + i, "time": now, "loss": one.loss}
            record |= {"seconds": one.seconds, "interval_seconds": interval}
            own = scalars if i == len(done) - 1 else {}
            if self._queue.qsize() < _MAX_WAITING:
                self._queue.put(_Step(job, one.step, record, own))
            else:
                self._warn("queue", "sinks are too slow: records are dropped")

    def close(self) -> None:
        """Writes all records and closes the sinks; a later step opens them again."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        atexit.unregister(self.close)
        self._queue.put(None)
        writer.join(_CLOSE_SECONDS)
        self._watched.clear()
        self._last_time = None
        self._queue = queue.SimpleQueue()

    def _start(self) -> None:
        if self._writer is None:
            self._writer = _Writer(self._queue, self._sinks, self._warn)
            self._writer.start()
            # Registered after the engine's handler, hence called before it.
            atexit.register(self.close)

    def _warn(self, what: object, text: str) -> None:
        if what in self._warned:
            return
        self._warned.add(what)
        # Training continues even if warnings are errors.
        with contextlib.suppress(Warning), above_bars(sys.stderr):
            warnings.warn_explicit(text, MeshwrightWarning, "meshwright", 0)


class _Step:
    def __init__(self, job: int, number: int, record: dict, scalars: Mapping):
        self.job, self.number, self.record = job, number, record
        self.scalars = scalars
        self.until = time.monotonic() + _LINE_SECONDS


def _follow(service, job: int, lines: queue.SimpleQueue) -> None:
    """Passes the metrics of a job on until it is stopped."""
    with contextlib.suppress(MeshwrightError):
        for line in service.watch(job):
            if "step" in line and lines.qsize() < _MAX_WAITING:
                lines.put(line)


class _Writer(threading.Thread):
    def __init__(self, waiting: queue.SimpleQueue, sinks: list[Sink], warn):
        super().__init__(name="meshwright-metrics", daemon=True)
        self._waiting, self._sinks, self._warn = waiting, sinks, warn
        self._steps: deque[_Step] = deque()
        self._lines: dict[tuple[int, int], dict] = {}
        self._last_line: dict[int, int] = {}  # By job: the last step.
        self._written: dict[int, int] = {}

    def run(self) -> None:
        over = False
        while not (over and self._waiting.empty() and not self._steps):
            try:
                item = self._waiting.get(timeout=0.1 if self._steps else None)
            except queue.Empty:
                item = ()
            if item is None:
                over = True
            elif isinstance(item, _Step):
                self._steps.append(item)
            elif item:
                self._add_line(item["job"], item["step"], item)
            while self._steps and self._is_ready(self._steps[0]):
                self._write(self._steps.popleft())
            if self._waiting.empty():
                self._each(lambda sink: sink.flush())
        self._each(lambda sink: sink.close())

    def _add_line(self, job: int, step: int, line: dict) -> None:
        self._last_line[job] = step
        if step > self._written.get(job, -1):
            self._lines[job, step] = line

    def _is_ready(self, step: _Step) -> bool:
        last = self._last_line.get(step.job, -1)
        return last >= step.number or time.monotonic() > step.until

    def _write(self, step: _Step) -> None:
        line = self._lines.pop((step.job, step.number), {})
        self._written[step.job] = step.number
        known = {k: v for k, v in line.items() if k not in ("job", *step.record)}
        record = {**step.record, **known}
        for name, value in step.scalars.items():
            taken = record.get(name) is not None
            record[f"user/{name}" if taken else name] = value
        self._each(lambda sink: sink.write(record))

    def _each(self, act) -> None:
        for sink in list(self._sinks):
            try:
                act(sink)
            except Exception as error:
                self._warn(sink, f"the sink {sink!r} failed: {in_one_line(error)}")
