#!/usr/bin/env python3
"""Finds names that clash when the files of a folder are compiled as one unit.

Builds compile them several at a time (MW_UNITY), and a new file moves the others
to other units: what clashes must clash at once. Reads the sources as they are
formatted, definitions in the first column, and knows no C++ beyond that.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPENS = re.compile(r"namespace (?:[\w:]+ )?\{")
TYPE = re.compile(
    r"(?:struct|class|union|enum(?: class)?) (?:alignas\(\w+\) )?(\w+)\b(?! *;)"
)
INCLUDE = re.compile(r'^#include "((?:meshwright|tests)/[^"]+)"', re.MULTILINE)
ALIAS = re.compile(r"using (\w+) =\s*(.*)")
CONSTANT = re.compile(
    r"(?:inline |static )?const(?:expr)? [^=(]*?\b(k[A-Z]\w*)\b(?=\[|\(| =|\{|;|$)"
)
LOCAL = re.compile(
    r"^ +const(?:expr)? [^=(\n]*?\b(k[A-Z]\w*)\b(?=\[| =|\{)", re.MULTILINE
)
FUNCTION = re.compile(r"(?<![\w:~])([A-Z]\w*)\((.*)", re.DOTALL)
LAST_NAME = re.compile(r"(?<=[\w>&*\]])( |(?<=[&*]))\s*\w+$")


def statements(text: str, namespace: str):
    """What begins in the first column, in namespaces of just this name."""
    around: list[str] = []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if OPENS.match(line):
            around.append(line)
        elif line.startswith("}  // namespace"):
            around.pop()
        elif around and around[-1] == namespace and line[:1].isalpha():
            rest = [line]
            while not re.search(r"[{;]\s*(//.*)?$", rest[-1]) and i + len(rest) < len(
                lines
            ):
                rest.append(lines[i + len(rest)].strip())
            yield " ".join(re.sub(r"\s*//.*", "", part) for part in rest)


def parameters(text: str) -> tuple[str, ...]:
    """The types of a list of parameters, up to its closing bracket."""
    found, part, depth = [], "", 0
    for c in text:
        if c == ")" and depth == 0:
            break
        depth += (c in "(<{[") - (c in ")>}]")
        if c == "," and depth == 0:
            found.append(part)
            part = ""
        else:
            part += c
    found.append(part)
    types = (re.sub(r"\s*=.*", "", one.strip()) for one in found)
    return tuple(LAST_NAME.sub("", one) for one in types if one)


def defined(text: str):
    """(name, what it is): alike for what may stand in two files of a unit."""
    for statement in statements(text, "namespace {"):
        line = re.sub(r"^template <.*?> (?=\w)", "", statement)
        if line.startswith(
            ("TEST", "INSTANTIATE", "MATCHER", "TYPED", "using ::", "using testing")
        ):
            continue
        if alias := ALIAS.match(line):
            yield alias[1], ("alias", alias[2])
        elif line.startswith("using "):
            continue
        elif type_name := TYPE.match(line):
            yield type_name[1], ("type", statement)
        elif constant := CONSTANT.match(line):
            yield constant[1], ("constant", statement)
        elif function := FUNCTION.search(line):
            yield function[1], ("function", parameters(function[2]))
    for local in set(LOCAL.findall(text)):
        yield local, ("local",)


def may_meet(a: tuple, b: tuple) -> bool:
    if a[0] == b[0] == "alias":
        return a[1] == b[1]
    if a[0] == b[0] == "local":
        return True
    return a[0] == b[0] == "function" and a[1] != b[1]


class Headers:
    """The types and constants that headers define in namespace meshwright."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[str, set[str]] = {}
        self.included: dict[str, list[str]] = {}

    def seen_by(self, files: list[Path]) -> dict[str, str]:
        """Those that any of the files sees, by name: the header."""
        found: dict[str, str] = {}
        done: set[str] = set()
        todo = [name for path in files for name in INCLUDE.findall(path.read_text())]
        while todo:
            name = todo.pop()
            if name in done:
                continue
            done.add(name)
            self.read(name)
            found |= dict.fromkeys(self.names[name], name)
            todo += self.included[name]
        return found

    def read(self, name: str) -> None:
        if name in self.names:
            return
        path = self.root / name
        text = path.read_text() if path.exists() else ""
        lines = statements(text, "namespace meshwright {")
        matches = [TYPE.match(x) or ALIAS.match(x) or CONSTANT.match(x) for x in lines]
        self.names[name] = {match[1] for match in matches if match}
        self.included[name] = INCLUDE.findall(text)


def find_clashes(root: Path) -> list[str]:
    clashes: list[str] = []
    headers = Headers(root)
    folders = defaultdict(list)
    for top in ("meshwright", "tests"):
        for path in sorted((root / top).rglob("*.cc")):
            if not path.name.endswith("_main.cc"):
                folders[path.parent, path.name.endswith("_test.cc")].append(path)
    for files in folders.values():
        seen = defaultdict(list)
        public = headers.seen_by(files)
        for path in files:
            where = str(path.relative_to(root))
            for name, what in defined(path.read_text()):
                others = (
                    file
                    for file, known in seen[name]
                    if file != where and not may_meet(what, known)
                )
                other = public.get(name) or next(others, None)
                if other:
                    clashes.append(f"{where}: {name} is also in {other}")
                seen[name].append((where, what))
    return clashes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    clashes = find_clashes(parser.parse_args().root)
    for clash in clashes:
        print(clash)
    print(f"units: {len(clashes)} names that clash")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main())
