#!/usr/bin/env python3
"""Checks that each folder of meshwright/ includes only lower layers.

tools/layers.txt gives each folder a level. A file may include its own folder
and folders of a lower level; equal levels never include each other. Lines
`limit HEADER FOLDER...` there keep a header inside the folders named.

    meshwright/hlo/shape.h:7: hlo (level 1) includes plan (level 3)
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--root", type=Path, default=here, help="the checkout")
    root = parser.parse_args().root
    found = list(problems(root, read_layers(root / "tools" / "layers.txt")))
    for line in found:
        print(line)
    print(f"layers: {len(found)} problem{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
