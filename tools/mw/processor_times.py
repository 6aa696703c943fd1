"""A plug-in of pytest: the processor time of each test, most first.

It counts all processes that a test has started, also those that still run, and hardly
depends on what else the machine does, unlike `--durations`.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

SHOWN = 40
KEY = "processor_s"
TICK = os.sysconf("SC_CLK_TCK")


def used(pid: int | str = "self") -> float:
    """Seconds of a process, and of its children, dead or alive."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        children = [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # It has ended.
        return 0.0
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / TICK + sum(used(child) for child in children)


class ProcessorTimes:
    def __init__(self):
        self._began = 0.0
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logstart(self):
        self._began = used()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        # The report takes a copy, which a worker sends to the process that prints.
        if call.when == "teardown":
            item.user_properties.append((KEY, used() - self._began))
        yield

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            self._seconds[report.nodeid] += dict(report.user_properties).get(KEY, 0)

    def pytest_terminal_summary(self, terminalreporter):
        if not self._seconds:
            return
        files = Counter()
        for name, seconds in self._seconds.items():
            files[name.partition("::")[0]] += seconds
        for title, counts in (("file", files), ("test", self._seconds)):
            terminalreporter.section(f"most processor time by {title}")
            for name, seconds in counts.most_common(SHOWN):
                terminalreporter.line(f"{seconds:8.2f}s {name}")


def pytest_configure(config):
    # With which this file was found; what tests start does without.
    os.environ.pop("PYTHONPATH", None)
    config.pluginmanager.register(ProcessorTimes())
