"""Finds the scripts in bench/, one for each published figure."""

from __future__ import annotations

import ast
from pathlib import Path

from mw.paths import ROOT, UserError


def scripts() -> dict[str, Path]:
    found = sorted((ROOT / "bench").glob("[!_]*.py"))
    return {path.stem: path for path in found}


def targets() -> list[str]:
    """Build targets that the scripts need in addition to the CLI."""
    return ["bench/all"] if (ROOT / "bench" / "CMakeLists.txt").exists() else []


def find(args: list[str]) -> str | None:
    """The script named in `args`; without a name, lists all scripts and returns
    None."""
    known = scripts()
    if not args:
        print("usage: ./mw bench NAME [ARGS]\n")
        for name, path in known.items():
            print(f"  {name:<20} {_summary(path)}")
        return None
    name = args[0].replace("-", "_")
    if name not in known:
        raise UserError(
            f"no benchmark '{args[0]}'; there are: {', '.join(known) or 'none yet'}"
        )
    return str(known[name])


def _summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.split("\n")[0]
