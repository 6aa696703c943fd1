"""Runs named steps, in parallel if there are enough cores, and summarises them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from mw import process
from mw.paths import StepFailed, UserError
from mw.progress import Task, display, duration


@dataclass
class Outcome:
    """The result of a step: the number of tests, and a remark for the table."""

    passed: int = 0
    failed: int = 0
    remark: str = ""
    state: str = "ok"  # ok, FAILED, not run
    seconds: float = 0.0
    processor_s: float = 0.0


@dataclass(frozen=True)
class Step:
    name: str
    run: Callable[[Task], Outcome | None]
    needs: tuple[str, ...] = ()
    cores: int = 1  # Cores that it keeps busy; 0 if it mostly waits.


class CountedFailure(StepFailed):
    """A failure with the numbers of passed and failed tests."""

    def __init__(self, failure: StepFailed, passed: int, failed: int):
        super().__init__(str(failure), failure.excerpt)
        self.passed = passed
        self.failed = max(1, failed)


class Schedule:
    """Starts a step once the steps it needs have passed and a core is free.

    Steps are considered in the given order. One that keeps several cores busy starts
    beside the last of those before it, as cores would be idle otherwise. A step is not
    run if one that it needs failed.
    """

    def __init__(self, steps: list[Step], cores: int):
        self._steps = steps
        self._cores = cores
        self._running: dict[str, int] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self.outcomes: dict[str, Outcome] = {}

    def run(self) -> None:
        with self._changed:
            try:
                while len(self.outcomes) < len(self._steps):
                    if not self._start_what_can():
                        self._changed.wait()
            except BaseException:
                self._stopping = True
                process.stop_all()
                raise

    def _start_what_can(self) -> bool:
        moved = False
        for step in self._steps:
            if step.name in self.outcomes or step.name in self._running:
                continue
            found = [self.outcomes.get(need) for need in step.needs]
            bad = [n for n, o in zip(step.needs, found) if o and o.state in BAD]
            if bad:
                self.outcomes[step.name] = Outcome(
                    0, 0, f"needs {', '.join(bad)}", "not run"
                )
                moved = True
            elif all(found) and self._room(step):
                self._running[step.name] = step.cores
                threading.Thread(target=self._work, args=(step,), daemon=True).start()
                moved = True
        return moved

    def _room(self, step: Step) -> bool:
        busy = sum(self._running.values())
        return step.cores == 0 or busy < self._cores

    def _work(self, step: Step) -> None:
        task = display.start(step.name)
        try:
            outcome = step.run(task) or Outcome()
        except CountedFailure as failure:
            outcome = Outcome(failure.passed, failure.failed, "", "FAILED")
            self._show(step, failure)
        except (StepFailed, UserError) as failure:
            outcome = Outcome(0, 1, "", "FAILED")
            self._show(step, failure)
        except Exception as error:  # noqa: BLE001 - the run must still end
            outcome = Outcome(0, 1, repr(error), "FAILED")
        outcome.seconds = task.seconds()
        outcome.processor_s = task.processor_s
        display.finish(task, None)
        with self._changed:
            if not self._stopping:
                display.say(
                    f"{step.name}: {outcome.state} ({duration(outcome.seconds)})"
                    + (f" - {outcome.remark}" if outcome.remark else "")
                )
            self._running.pop(step.name, None)
            self.outcomes[step.name] = outcome
            self._changed.notify_all()

    def _show(self, step: Step, failure: Exception) -> None:
        if not self._stopping:
            excerpt = getattr(failure, "excerpt", "")
            display.say(f"--- {step.name}\n{excerpt}\n{failure}\n---")


BAD = ("FAILED", "not run")


def table(steps: list[Step], outcomes: dict[str, Outcome]) -> str:
    """How long a step took depends on what else ran, its processor time hardly."""
    columns = ("passed", 7), ("failed", 7), ("time", 14), ("processor", 14)
    names = " ".join(f"{name:>{width}}" for name, width in columns)
    rows = [f"{'step':<16} {'result':<8} {names}"]
    for step in steps:
        o = outcomes[step.name]
        rows.append(
            f"{step.name:<16} {o.state:<8} {o.passed:>7} {o.failed:>7} "
            f"{duration(o.seconds):>14} {duration(o.processor_s):>14}  {o.remark}".rstrip()
        )
    return "\n".join(rows)
