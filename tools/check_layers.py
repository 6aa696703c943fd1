#!/usr/bin/env python3
"""Checks that each folder of meshwright/ includes only lower layers.

tools/layers.txt gives each folder a level. A file may include its own folder
and folders of a lower level; equal levels never include each other. Lines
`limit HEADER FOLDER...` there keep a header inside the folders named.

    meshwright/hlo/shape.h:7: hlo (level 1) includes plan (level 3)

The walk at the top of docs/architecture.md (its numbered list) names folders
in the order in which a module gets to them, all but base. It has to be a walk
in one direction: what a folder includes comes before it.

    docs/architecture.md: the walk has search before cost, which it includes
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WALK_LINE = re.compile(r"\d+\. |   \S")
FOLDER = re.compile(r"`(\w+)/`")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
ADVICE = {
    "upward": "move the shared part to a lower folder, or the caller to a higher one",
    "unknown": "add the folder and its level to tools/layers.txt",
    "limit": "go through the folders that may include it: {allowed}",
    "bare": "write the path from the repository's root: {wanted}",
    "missing": "correct the path, or add the file",
}


@dataclass
class Layers:
    levels: dict[str, int] = field(default_factory=dict)
    limits: dict[str, list[str]] = field(default_factory=dict)


def read_layers(path: Path) -> Layers:
    layers = Layers()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "limit" and len(words) > 2:
            layers.limits[words[1]] = words[2:]
        elif len(words) == 2 and words[1].isdigit():
            layers.levels[words[0]] = int(words[1])
        else:
            sys.exit(f"{path}:{number}: expected 'FOLDER LEVEL' or 'limit ...'")
    return layers


def problems(root: Path, layers: Layers) -> Iterator[str]:
    files = sorted((root / "meshwright").rglob("*"))
    for path in files:
        if path.suffix not in (".h", ".cc", ".inc") or not path.is_file():
            continue
        name = path.relative_to(root)
        folder = name.parts[1] if len(name.parts) > 2 else ""
        if folder not in layers.levels:
            where = f"folder '{folder}'" if folder else "a file outside any folder"
            yield f"{name}:1: {where} has no level; {ADVICE['unknown']}"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                for what in _include_problems(root, path, folder, match, layers):
                    yield f"{name}:{number}: {what}"


def _include_problems(root, path, folder, match, layers) -> Iterator[str]:
    quote, target = match.groups()
    for pattern, allowed in layers.limits.items():
        if fnmatch.fnmatch(target, pattern) and folder not in allowed:
            advice = ADVICE["limit"].format(allowed=", ".join(allowed))
            yield f"{folder} includes {target}; {advice}"
    if quote == '"' and "/" not in target and (path.parent / target).exists():
        wanted = (path.parent / target).relative_to(root)
        yield f"includes {target}; {ADVICE['bare'].format(wanted=wanted)}"
    parts = target.split("/")
    if parts[0] != "meshwright":
        return
    other = parts[1] if len(parts) > 2 else ""
    if other not in layers.levels:
        yield f"includes {target}, whose folder has no level; {ADVICE['unknown']}"
        return
    if not (root / target).exists():
        yield f"includes {target}, which does not exist; {ADVICE['missing']}"
    mine, its = layers.levels[folder], layers.levels[other]
    if other != folder and its >= mine:
        yield (
            f"{folder} (level {mine}) includes {other} (level {its}); "
            f"{ADVICE['upward']}"
        )


def read_walk(path: Path) -> list[str]:
    """The folders of the numbered list, each where it is named first."""
    walk: list[str] = []
    in_list = False
    for line in path.read_text().splitlines():
        in_list = WALK_LINE.match(line) is not None and (in_list or line[0] == "1")
        if not in_list and walk:
            break
        if in_list:
            walk += [name for name in FOLDER.findall(line) if name not in walk]
    return walk


def walk_problems(root: Path, walk: list[str], layers: Layers) -> Iterator[str]:
    page = "docs/architecture.md"
    for folder in walk:
        if folder not in layers.levels:
            yield f"{page}: the walk has {folder}, which is no folder"
    for folder in layers.levels:
        if folder != "base" and folder not in walk:
            yield f"{page}: the walk leaves out {folder}"
    included = _included_folders(root, walk)
    for place, folder in enumerate(walk):
        for later in walk[place + 1 :]:
            if later in included[folder]:
                yield (
                    f"{page}: the walk has {folder} before {later}, which it "
                    f"includes ({included[folder][later]})"
                )


def _included_folders(root: Path, walk: list[str]) -> dict[str, dict[str, str]]:
    """By folder: the other folders that it includes, with one file that does.

    Tests may look at what comes later.
    """
    included: dict[str, dict[str, str]] = {folder: {} for folder in walk}
    for folder in walk:
        for path in sorted((root / "meshwright" / folder).rglob("*")):
            is_test = re.search(r"_(for_)?test\.", path.name)
            if path.suffix not in (".h", ".cc", ".inc") or is_test:
                continue
            for line in path.read_text().splitlines():
                match = INCLUDE.match(line)
                parts = match.group(2).split("/") if match else []
                if len(parts) > 2 and parts[0] == "meshwright":
                    included[folder].setdefault(parts[1], path.name)
    return included


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--root", type=Path, default=here, help="the checkout")
    root = parser.parse_args().root
    layers = read_layers(root / "tools" / "layers.txt")
    found = list(problems(root, layers))
    page = root / "docs" / "architecture.md"
    if page.exists():
        found += walk_problems(root, read_walk(page), layers)
    for line in found:
        print(line)
    print(f"layers: {len(found)} problem{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
