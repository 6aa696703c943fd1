"""Runs the unit tests: many of a program per process, as starting one takes longer than
most tests do.

A program's tests are run in batches. If a process crashes or hangs, the test that it
was at has failed, and what is left of its batch is run by another process.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mw import process
from mw.paths import LOG, StepFailed, relative
from mw.progress import Task
from mw.schedule import CountedFailure, Outcome

# Programs labelled long have tests of seconds: small batches keep all cores busy.
BATCH_LONG = 12
LIMIT_S = 1200
LIMIT_LONG_S = 7200
LINES_SHOWN = 40  # Of each test that failed.
COLUMNS_SHOWN = 500


@dataclass(frozen=True)
class Batch:
    """Tests of one program, run by one process."""

    program: Path
    tests: tuple[str, ...]
    number: int = 0

    def log_name(self) -> str:
        return f"unit/{self.program.name}-{self.number}"

    def rest(self, done: Sequence[str]) -> Batch:
        """What is left of it, with a log of its own."""
        left = tuple(test for test in self.tests if test not in done)
        return Batch(self.program, left, self.number + 1000)


@dataclass
class Results:
    """How tests ended; `failures` are what they printed."""

    passed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def done(self) -> list[str]:
        return [*self.passed, *self.skipped, *self.failures]


def programs(build: Path) -> list[tuple[str, Path]]:
    """Label and path of each program that CMake has registered."""
    lines = (build / "test_programs.txt").read_text().splitlines()
    return [(label, Path(path)) for label, path in map(str.split, lines)]


def tests_of(program: Path) -> tuple[str, ...]:
    listed = subprocess.run(
        [program, "--gtest_list_tests"], capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise StepFailed(f"{relative(program)} lists no tests", listed.stderr)
    return read_list(listed.stdout)


def read_list(text: str) -> tuple[str, ...]:
    """
    >>> read_list("A.\\n  One\\nAll/B.  # TypeParam = int\\n  Two/x  # GetParam() = 3\\n")
    ('A.One', 'All/B.Two/x')
    """
    found, suite = [], ""
    for line in text.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite and "DISABLED_" not in suite + name:
            found.append(suite + name)
    return tuple(found)


def batches(listed: Sequence[tuple[str, Path]]) -> list[Batch]:
    """Those of long programs come first."""
    found = []
    for label, program in sorted(listed, key=lambda one: one[0] != "long"):
        tests = tests_of(program)
        size = BATCH_LONG if label == "long" else len(tests)
        for i in range(0, len(tests), max(1, size)):
            found.append(Batch(program, tests[i : i + size], i // size))
    return found


def read_log(text: str) -> Results:
    """The ends of tests in the output of a process. One without an end has failed.

    What begins within a test is run by a child of it.
    """
    results, name, lines = Results(), "", []
    for line in text.splitlines():
        if not name:
            begun = re.search(r"\[ RUN      \] (\S+)$", line)
            if begun:
                name, lines = begun[1], [line]
            continue
        lines.append(line)
        ended = re.search(rf"\[ *(OK|FAILED|SKIPPED) *\] {re.escape(name)}[ ,]", line)
        if not ended:
            continue
        if ended[1] == "FAILED":
            results.failures[name] = "\n".join(lines)
        else:
            (results.passed if ended[1] == "OK" else results.skipped).append(name)
        name = ""
    if name:
        results.failures[name] = "\n".join(lines)
    return results


class UnitTests:
    """Runs `at_once` batches at a time."""

    def __init__(self, task: Task, at_once: int, env: dict[str, str], long: bool):
        self._task = task
        self._at_once = at_once
        self._env = env
        self._limit = LIMIT_LONG_S if long else LIMIT_S
        self._all = Results()
        self._lock = threading.Lock()

    def run(self, found: Sequence[Batch]) -> Outcome:
        (LOG / "unit").mkdir(parents=True, exist_ok=True)
        total = sum(len(batch.tests) for batch in found)
        if total == 0:
            raise StepFailed("there are no unit tests")
        with ThreadPoolExecutor(self._at_once) as pool:
            for _ in pool.map(lambda batch: self._run(batch, total), found):
                pass
        passed, failed = len(self._all.passed), len(self._all.failures)
        skipped = len(self._all.skipped)
        if failed:
            texts = "\n\n".join(self._all.failures.values())
            message = (
                f"{failed} of {total} unit tests failed; logs: {relative(LOG)}/unit"
            )
            raise CountedFailure(StepFailed(message, texts), passed, failed)
        return Outcome(passed, 0, f"{skipped} skipped" if skipped else "")

    def _run(self, batch: Batch, total: int) -> None:
        while batch.tests:
            results = self._run_once(batch)
            with self._lock:
                self._all.passed += results.passed
                self._all.skipped += results.skipped
                self._all.failures.update(results.failures)
                self._task.update(f"{len(self._all.done())} of {total}")
            batch = batch.rest(results.done())

    def _run_once(self, batch: Batch) -> Results:
        """At least one of its tests has an end afterwards."""
        argv = ["timeout", "--kill-after=10", self._limit, batch.program]
        argv += [f"--gtest_filter={':'.join(batch.tests)}"]
        name = batch.log_name()
        why = ""
        try:
            process.run(name, argv, name, _nothing, env=self._env, task=self._task)
        except StepFailed as failure:
            why = str(failure)
        text = (LOG / f"{name}.log").read_text(errors="replace")
        results = read_log(text)
        for test, output in results.failures.items():
            results.failures[test] = _shown(batch, test, output, why)
        left = [test for test in batch.tests if test not in results.done()]
        if why and not results.failures or not why and left:
            blamed = left[0] if left else batch.tests[-1]
            if blamed in results.passed:
                results.passed.remove(blamed)
            results.failures[blamed] = _shown(batch, blamed, text, why or "no result")
        return results


def _shown(batch: Batch, test: str, output: str, why: str) -> str:
    lines = [line[:COLUMNS_SHOWN] for line in output.splitlines()]
    if len(lines) > LINES_SHOWN:
        half = LINES_SHOWN // 2
        lines = [*lines[:half], "...", *lines[-half:]]
    again = f"{relative(batch.program)} --gtest_filter='{test}'"
    ended = [] if re.search(r"\[  FAILED  \]", output) else [f"({why})"]
    return "\n".join([*lines, *ended, f"again: {again}"])


def _nothing(line: str) -> None:
    """Progress is counted by batches."""
