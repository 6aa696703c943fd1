"""Runs clang-format and ruff on our own files."""

from __future__ import annotations

import re
from pathlib import Path

from mw import packages, process, wheels
from mw.paths import ROOT, VENV, relative
from mw.progress import Task

CPP_FOLDERS = ("meshwright", "tests", "bench", "examples")
PYTHON_FOLDERS = ("python", "tests", "tools", "bench", "examples")


def cpp_files() -> list[Path]:
    folders = [ROOT / name for name in CPP_FOLDERS]
    found = [p for folder in folders for p in folder.rglob("*") if p.is_file()]
    return sorted(p for p in found if p.suffix in (".h", ".cc"))


def python_paths() -> list[Path]:
    folders = [ROOT / name for name in PYTHON_FOLDERS if (ROOT / name).is_dir()]
    return [*folders, ROOT / "mw"]


def check(task: Task | None = None) -> None:
    _ensure()
    cpp = _relative(cpp_files())
    if cpp:
        argv = [_tool("clang-format"), "--dry-run", "-Werror", *cpp]
        process.run(_HINT, argv, "clang-format", excerpt=_unformatted, task=task)
    ruff, paths = _tool("ruff"), _relative(python_paths())
    argv = [ruff, "format", "--check", *paths]
    process.run(_HINT, argv, "ruff-format", task=task)
    process.run("ruff check", [ruff, "check", *paths], "ruff-check", task=task)


def apply() -> None:
    _ensure()
    cpp = _relative(cpp_files())
    if cpp:
        process.run("clang-format", [_tool("clang-format"), "-i", *cpp], "clang-format")
    ruff, paths = _tool("ruff"), _relative(python_paths())
    process.run("ruff format", [ruff, "format", *paths], "ruff-format")
    process.run("ruff check", [ruff, "check", "--fix", *paths], "ruff-check")


_HINT = "format check (./mw format corrects it)"


def _unformatted(log: Path) -> str:
    """The first complaint of clang-format about each file."""
    heads = re.findall(r"^([^\s:]+):(\d+):\d+: error", log.read_text(), re.MULTILINE)
    first = {name: line for name, line in reversed(heads)}
    return "\n".join(f"{name}:{first[name]}: not formatted" for name in sorted(first))


def _ensure() -> None:
    packages.ensure()
    wheels.ensure(wheels.TOOLS)


def _tool(name: str) -> Path:
    return VENV / "bin" / name


def _relative(paths: list[Path]) -> list[str]:
    return [relative(path) for path in paths]
