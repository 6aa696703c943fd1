#!/usr/bin/env python3
"""Compiles every file by itself, without precompiled headers: each must name what
it uses.

Reads what the release build compiles; writes nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ROOT / "build" / "release" / "compile_commands.json"
UNIT = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
PRECOMPILED = re.compile(r"cmake_pch|-include(-pch)?$|-Winvalid-pch")


def without_precompiled(command: str) -> list[str]:
    words = shlex.split(command)
    kept: list[str] = []
    for word in words:
        if word == "-o":
            break
        if PRECOMPILED.search(word):
            if kept and kept[-1] == "-Xclang":
                kept.pop()
            continue
        kept.append(word)
    return [*kept, "-fsyntax-only", "-c", words[-1]]


def files_of(entry: dict) -> list[dict]:
    """One entry for each file of a unit (MW_UNITY)."""
    file = Path(entry["file"])
    if file.parent.name != "Unity":
        return [entry]
    parts = UNIT.findall(file.read_text())
    alone = entry["command"].removesuffix(str(file))
    return [{**entry, "file": part, "command": alone + part} for part in parts]


def failure(entry: dict) -> str:
    argv = without_precompiled(entry["command"])
    answer = subprocess.run(
        argv, cwd=entry["directory"], capture_output=True, text=True, check=False
    )
    return answer.stderr if answer.returncode else ""


def main() -> int:
    if not COMMANDS.exists():
        print(f"{COMMANDS} is not there: ./mw build first", file=sys.stderr)
        return 2
    entries = [
        entry
        for unit in json.loads(COMMANDS.read_text())
        for entry in files_of(unit)
        if not Path(entry["file"]).is_relative_to(ROOT / "build")
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failures = [text for text in pool.map(failure, entries) if text]
    for text in failures:
        print(text, file=sys.stderr)
    print(f"{len(entries)} files, {len(failures)} that name less than they use")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
