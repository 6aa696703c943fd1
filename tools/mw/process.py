"""Runs child processes: output goes to build/log/, progress to the display."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from mw.paths import LOG, ROOT, StepFailed, relative
from mw.progress import Task, display

EXCERPT_LINES = 120

_children: list[subprocess.Popen] = []
_children_lock = threading.Lock()
_stopping = False


class Stopped(Exception):
    """./mw is being stopped, so nothing is started any more."""


def last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(lines[-EXCERPT_LINES:])


def run(
    title: str,
    argv: Sequence[object],
    log_name: str,
    parse: Callable[[str], str | None] = lambda line: line,
    excerpt: Callable[[Path], str] = last_lines,
    env: dict[str, str] | None = None,
    append: bool = False,
    task: Task | None = None,
) -> Path:
    """Runs `argv` in the checkout and returns its log.

    `parse` converts a line of output to progress text, or returns None to keep the last
    text. Raises StepFailed with `excerpt(log)` on failure. With `task` given, reports
    progress for it instead of for a new task.
    """
    LOG.mkdir(parents=True, exist_ok=True)
    log = LOG / f"{log_name}.log"
    shown = task or display.start(title)
    code: int | None = None
    try:
        with open(log, "a" if append else "w", errors="replace") as out:
            out.write("$ " + " ".join(str(part) for part in argv) + "\n")
            out.flush()
            code = _pump(argv, {**os.environ, **(env or {})}, out, parse, shown)
    except OSError as error:
        raise StepFailed(f"{title}: cannot run {argv[0]}: {error.strerror}") from None
    finally:
        if task is None:
            display.finish(shown, "done" if code == 0 else None)
    if code != 0:
        raise StepFailed(
            f"{title} failed (exit {code}); full log: {relative(log)}", excerpt(log)
        )
    return log


def _pump(argv, env, out, parse, shown) -> int:
    child = _start(argv, env)
    try:
        for line in child.stdout:
            out.write(line)
            text = parse(line.strip())
            if text:
                shown.update(text)
        return _wait(child, shown)
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        with _children_lock:
            _children.remove(child)


def _wait(child: subprocess.Popen, task: Task) -> int:
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    task.add_processor(used.ru_utime + used.ru_stime)
    return child.returncode


def _start(argv, env) -> subprocess.Popen:
    with _children_lock:
        if _stopping:
            raise Stopped
        child = subprocess.Popen(
            [str(part) for part in argv],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        _children.append(child)
        return child


def stop_all() -> None:
    """Ends all running children, when ./mw itself is stopped. Others, which threads
    would start instead of them, are Stopped."""
    global _stopping
    with _children_lock:
        _stopping = True
        for child in _children:
            child.terminate()
