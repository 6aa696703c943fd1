#!/usr/bin/env python3
"""Lines per folder and file, and the caps that keep files small.

    tools/size.py               lines per folder; fails above the caps
    tools/size.py --files       lines per file too
    tools/size.py --base REV    what changed since REV

Caps: header 200, source 500, test 500 lines. tools/size_allow.txt lists the
files that may be longer; it may only shrink: an entry that is no longer needed
is an error, and so, with --base, is a new one. Functions above 80 lines are
named, as advice.
"""

from __future__ import annotations

import argparse
import ast
import collections
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("meshwright", "python", "tests", "tools", "bench", "examples", "proto")
SUFFIXES = (".h", ".cc", ".inc", ".py", ".proto")
CAPS = {"header": 200, "source": 500, "test": 500}
FUNCTION_CAP = 80
ALLOW_LIST = "tools/size_allow.txt"
GENERATED = ("/build/", ".egg-info/", "__pycache__/")


def kind(name: str) -> str:
    if re.search(r"_test\.cc$|(^|/)test_[^/]*\.py$|(^|/)conftest\.py$", name):
        return "test"
    return "header" if name.endswith(".h") else "source"


def counted(name: str) -> bool:
    ours = name == "mw" or name.startswith(tuple(f + "/" for f in FOLDERS))
    right = name == "mw" or name.endswith(SUFFIXES)
    return ours and right and not any(part in name for part in GENERATED)


def sizes_now(root: Path) -> dict[str, int]:
    found = [root / "mw"]
    for folder in FOLDERS:
        found += sorted((root / folder).rglob("*"))
    names = {str(p.relative_to(root)): p for p in found if p.is_file()}
    return {n: line_count(p.read_bytes()) for n, p in names.items() if counted(n)}


def git(root: Path, *args: str) -> bytes:
    argv = ["git", "-C", str(root), *args]
    answer = subprocess.run(argv, capture_output=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"size: {answer.stderr.decode().strip()}")
    return answer.stdout


def texts_at(root: Path, revision: str) -> dict[str, bytes]:
    """What was in the counted files and the allow-list at `revision`."""
    names = git(root, "ls-tree", "-r", "--name-only", revision).decode().splitlines()
    kept = [n for n in names if counted(n) or n == ALLOW_LIST]
    return {n: git(root, "show", f"{revision}:{n}") for n in kept}


def line_count(data: bytes) -> int:
    return len(data.splitlines())


def folder_of(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[: min(2, len(parts) - 1)]) or "."


def parse_allowed(text: str) -> set[str]:
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {line for line in lines if line}


def problems(sizes: dict[str, int], allowed: set[str]) -> Iterator[str]:
    for name, lines in sorted(sizes.items()):
        cap = CAPS[kind(name)]
        if lines > cap and name not in allowed:
            yield (
                f"{name}:{cap + 1}: {lines} lines, the cap for a {kind(name)} is "
                f"{cap}; split it by concept"
            )
    for name in sorted(allowed):
        if name not in sizes:
            yield f"{ALLOW_LIST}: {name} is gone; remove its line"
        elif sizes[name] <= CAPS[kind(name)]:
            yield (
                f"{ALLOW_LIST}: {name} has {sizes[name]} lines, within the cap; "
                "remove its line"
            )


def long_functions(root: Path, names: list[str]) -> Iterator[tuple[str, int, int]]:
    """(file, first line, lines) of functions above the cap."""
    for name in names:
        text = (root / name).read_text(errors="replace")
        spans = _python_spans(text) if _is_python(name) else _cpp_spans(text)
        for first, last in spans:
            if last - first + 1 > FUNCTION_CAP:
                yield name, first, last - first + 1


def _is_python(name: str) -> bool:
    return name == "mw" or name.endswith(".py")


def _python_spans(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno or node.lineno


def _cpp_spans(text: str) -> Iterator[tuple[int, int]]:
    """Relies on Google format: a function's head and its '}' are unindented."""
    head = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.rstrip() == "}" and head:
            yield head, number
            head = 0
        elif re.match(r"[A-Za-z_~]", line):
            skipped = ("namespace", "class ", "struct ", "enum ", "using ", "public:")
            if line.startswith(skipped):
                head = 0
            elif not head or line.endswith(";"):
                head = 0 if line.endswith(";") else number


def report(sizes: dict[str, int], files: bool) -> None:
    total: dict[str, int] = collections.Counter()
    for name, lines in sizes.items():
        total[folder_of(name)] += lines
    for folder in sorted(total):
        print(f"{total[folder]:7} {folder}/")
        if files:
            inside = [n for n in sorted(sizes) if folder_of(n) == folder]
            for name in inside:
                print(f"{sizes[name]:7}   {name}")
    print(f"{sum(total.values()):7} total")


def report_change(old: dict[str, int], new: dict[str, int], files: bool) -> None:
    total: dict[str, int] = collections.Counter()
    for name in sorted(old.keys() | new.keys()):
        change = new.get(name, 0) - old.get(name, 0)
        total[folder_of(name)] += change
        if files and change:
            print(f"{change:+7}   {name} ({new.get(name, 0)})")
    for folder in sorted(name for name in total if total[name]):
        print(f"{total[folder]:+7} {folder}/")
    print(f"{sum(total.values()):+7} total")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--root", type=Path, default=here, help="the checkout")
    parser.add_argument("--base", metavar="REV", help="show the change since REV")
    parser.add_argument("--files", action="store_true", help="list files too")
    args = parser.parse_args()

    sizes = sizes_now(args.root)
    allow_list = args.root / ALLOW_LIST
    allowed = parse_allowed(allow_list.read_text() if allow_list.exists() else "")
    found = list(problems(sizes, allowed))
    if args.base:
        old = texts_at(args.root, args.base)
        old_sizes = {n: line_count(data) for n, data in old.items() if counted(n)}
        report_change(old_sizes, sizes, args.files)
        if ALLOW_LIST in old:
            added = allowed - parse_allowed(old[ALLOW_LIST].decode())
            found += [f"{ALLOW_LIST}: {n} was added; split it" for n in sorted(added)]
    else:
        report(sizes, args.files)
    for name, first, lines in long_functions(args.root, sorted(sizes)):
        print(f"note: {name}:{first}: a function of {lines} lines; aim under 40")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
