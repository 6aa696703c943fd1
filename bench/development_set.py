"""Training steps of public models that nothing here was made for, lowered and tried.

    ./mw bench development_set FOLDER              # lowers all, tries those to look at
    ./mw bench development_set FOLDER --held-out   # tries the others
    ./mw bench development_set FOLDER bert t5      # tries these

Lowers 60 steps (bench/_development) into FOLDER: Flax models of transformers with
the oldest JAX, others with the newest, as ./mw setup has pinned them. A third of them,
chosen by a hash of the name, goes to FOLDER/held_out; figures are developed without
looking at these, and judged on them. Each is then read (`inspect`), planned and run for
8 virtual CPU devices (`check`). What there is stays; --again lowers everything anew.
Bar: no step is refused, crashes or comes out unequal.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINARY = ROOT / "build/release/meshwright/cli/meshwright"
SOURCES = ROOT / "bench/_development"
# By interpreter, whose packages the files import.
FILES = {
    ROOT / ".venv-jax-old/bin/python": ["transformers_text", "transformers_senses"],
    Path(sys.executable): [
        "sequences",
        "pictures",
        "structures",
        "objectives",
        "routes",
    ],
}


def held_out(name: str) -> bool:
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % 3 == 0


def lower(folder: Path) -> bool:
    """Whether all were; those that are not are named."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    environment["PYTHONPATH"] = str(ROOT / "python")
    done = [
        subprocess.run(
            [interpreter, SOURCES, folder, *files], env=environment, check=False
        )
        for interpreter, files in FILES.items()
    ]
    (folder / "held_out").mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.hlo.pb")):
        if held_out(stem(path)):
            path.rename(folder / "held_out" / path.name)
    return all(one.returncode == 0 for one in done)


def stem(path: Path) -> str:
    return path.name.split(".")[0]


def modules(folder: Path, of_held_out: bool = False) -> list[Path]:
    return sorted((folder / "held_out" if of_held_out else folder).glob("*.hlo.pb"))


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else ""


def attempt(*words) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BINARY, *map(str, words)], capture_output=True, text=True, check=False
    )


def batch_of(facts: dict) -> int:
    """The first dimension of most data."""
    data = [p["shape"] for p in facts["parameters"] if p["role"] == "data"]
    sizes = [shape[0] for shape in data if shape]
    return max(set(sizes), key=sizes.count) if sizes else 0


def inspect(path: Path) -> tuple[str, dict]:
    done = attempt("inspect", path, "--json")
    if done.returncode != 0:
        return f"inspect: {last_line(done.stderr)}", {}
    return "", json.loads(done.stdout)


def try_out(path: Path, plan: Path) -> str:
    """What went wrong; empty if nothing did."""
    done = attempt("plan", path, "--cluster", "cpu:8", "-o", plan)
    if done.returncode != 0:
        return f"plan ({done.returncode}): {last_line(done.stderr)}"
    done = attempt("check", path, "--plan", plan)
    if done.returncode != 0:
        return f"check ({done.returncode}): {last_line(done.stdout + done.stderr)}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="of the steps to try; default: all")
    parser.add_argument("--held-out", action="store_true", help="try the others")
    parser.add_argument("--again", action="store_true", help="lower everything anew")
    parser.add_argument("--lower-only", action="store_true")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    if options.again or not modules(folder):
        wrong += not lower(folder)
    if options.lower_only:
        sys.exit(wrong)
    print("| step | instructions | batch | |\n|---|---|---|---|")
    for path in modules(folder, options.held_out):
        if options.names and stem(path) not in options.names:
            continue
        problem, facts = inspect(path)
        if facts:
            problem = try_out(path, folder / f"{stem(path)}.plan.json")
        wrong += bool(problem)
        count, batch = "", ""
        if facts:
            count, batch = facts["instructions"], batch_of(facts)
        print(
            f"| {stem(path)} | {count} | {batch} | {problem or 'equal'} |", flush=True
        )
    print(f"{wrong} with problems, bar 0: {'kept' if wrong == 0 else 'missed'}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
