"""CMake presets and Ninja: configures if needed, builds, shows progress."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mw import packages, process, wheels
from mw.paths import (
    BUILD,
    ROOT,
    Lock,
    StepFailed,
    fingerprint,
    locked,
    stamp_matches,
    write_stamp,
)
from mw.progress import Task, display


def cores() -> int:
    return len(os.sched_getaffinity(0))


def compiler() -> str | None:
    """The user's choice, else Clang, which takes half the time of g++; None: CMake's
    choice."""
    given = os.environ.get("CXX")
    if given:
        return shutil.which(given) or given
    return shutil.which("clang++-19") or shutil.which("clang++")


def ensure(
    targets: Sequence[str] = (), preset: str = "release", task: Task | None = None
) -> None:
    """Builds `targets` of `preset` if they are out of date; no targets means all."""
    packages.ensure()
    wheels.ensure(wheels.RUNTIME)

    def waiting() -> None:
        display.say(f"waiting for another ./mw that builds {preset}")

    with locked(f"build-{preset}", waiting) as lock:
        _configure(preset, task, lock)
        _ninja(preset, targets, task, lock)


def targets_of(preset: str) -> set[str]:
    """All targets of the configured build of `preset`."""
    answer = subprocess.run(
        ["ninja", "-C", BUILD / preset, "-t", "targets", "all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return {line.split(":")[0] for line in answer.stdout.splitlines()}


def configure(preset: str) -> None:
    packages.ensure()
    wheels.ensure(wheels.RUNTIME)
    with locked(f"build-{preset}") as lock:
        _configure(preset, None, lock)


def _configure(preset: str, task: Task | None, lock: Lock) -> None:
    folder = BUILD / preset
    include = wheels.pjrt_include()
    stamp = BUILD / "stamp" / f"configured-{preset}"
    state = fingerprint(ROOT / "CMakePresets.json", str(include), str(compiler()))
    if stamp_matches(stamp, state) and (folder / "build.ninja").exists():
        return
    # CMake would refuse a cache from elsewhere (a moved checkout).
    cache = folder / "CMakeCache.txt"
    home = f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n"
    made_by = f"CMAKE_CXX_COMPILER:.*={re.escape(compiler() or '')}"
    text = cache.read_text(errors="replace") if cache.exists() else home
    if home not in text or not re.search(made_by, text):
        shutil.rmtree(folder, ignore_errors=True)
    argv = ["cmake", "--preset", preset, f"-DMW_PJRT_INCLUDE={include}"]
    argv += [f"-DCMAKE_CXX_COMPILER={compiler()}"] if compiler() else []
    log_name = f"configure-{preset}"
    lock.at_work()
    process.run(f"configuring {preset}", argv, log_name, _cmake_text, task=task)
    write_stamp(stamp, state)


def _ninja(preset: str, targets: Sequence[str], task: Task | None, lock: Lock) -> None:
    def text(line: str) -> str | None:
        shown = _ninja_text(line)
        if shown:  # With nothing to do, Ninja prints no count.
            lock.at_work()
        return shown

    argv = ["ninja", "-C", BUILD / preset, "-j", cores(), *targets]
    process.run(
        f"building {preset}",
        argv,
        f"build-{preset}",
        text,
        _compiler_output,
        env={"NINJA_STATUS": "[%f/%t] ", "CLICOLOR_FORCE": "0"},
        task=task,
    )


def _cmake_text(line: str) -> str | None:
    return line[3:] if line.startswith("-- ") else None


_VERBS = {
    "Building": "compiling",
    "Linking": "linking",
    "Running": "generating",
    "Generating": "generating",
}


def _ninja_text(line: str) -> str | None:
    """'[3/9] Building CXX object a/CMakeFiles/b.dir/c.cc.o' to '[3/9] compiling a/c.cc'."""
    match = re.match(r"(\[\d+/\d+\]) ([\w-]+)(.*)", line)
    if not match:
        return None
    counter, verb, rest = match.groups()
    last = rest.split()[-1] if rest.split() else ""
    last = re.sub(r"CMakeFiles/[^/]+\.dir/|\.o$", "", last)
    return f"{counter} {_VERBS.get(verb, verb)} {last}"


def _compiler_output(log: Path) -> str:
    """The log from the first failure on, without Ninja's other messages."""
    lines = log.read_text(errors="replace").splitlines()
    marks = ("FAILED:", "CMake Error")
    failed = [n for n, line in enumerate(lines) if line.startswith(marks)]
    if not failed:
        return process.last_lines(log)
    kept = [
        line
        for line in lines[failed[0] :]
        if not re.match(r"\[\d+/\d+\] |ninja: build stopped", line)
    ]
    return "\n".join(kept[: process.EXCERPT_LINES])


def binary(preset: str, target: str) -> Path:
    """The path of the executable built by `target`."""
    for path in sorted((BUILD / preset).rglob(target)):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise StepFailed(f"the {preset} build made no {target}")
