"""Reading, verifying and writing a large module.

    ./mw bench module_io            # gpt 175b, unrolled, and one of twice its layers
    ./mw bench module_io FILE

Bars: read + verify at most 1.0 s, write at most 0.5 s, peak memory at most 40 times
the file.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
STEPS = ("read", "verify", "write", "print")


BARS = {"read + verify s": 1.0, "write s": 0.5, "memory x file": 40}


def measure(path: Path, options) -> dict:
    command = [options.tool, path, str(options.rounds)]
    report = json.loads(subprocess.check_output(command))
    median = {key: statistics.median(report[key]) for key in STEPS}
    return {
        "instructions": report["instructions"],
        "file bytes": report["file_bytes"],
        "read + verify s": median["read"] + median["verify"],
        "write s": median["write"],
        "print s": median["print"],
        "memory x file": report["peak_bytes"] / report["file_bytes"],
    }


def modules(options, folder: Path):
    """The file given, or gpt 175b with its own 96 layers and with twice as many."""
    if options.file is not None:
        yield options.file.name, options.file
        return
    from meshwright.zoo import build

    for layers in (96, 192):
        path = folder / f"gpt_{layers}.hlo.pb"
        build("gpt", "175b", layers=layers).lower().save(path)
        yield f"gpt 175b, {layers} layers", path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    default = ROOT / "build/release/bench/module_io"
    parser.add_argument("--tool", type=Path, default=default)
    options = parser.parse_args()
    print(describe())
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in modules(options, Path(folder)):
            figures = measure(path, options)
            print(name)
            for key, value in figures.items():
                text = f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
                print(f"  {key:16} {text:>12}")
            missed += [f"{name}: {k}" for k, bar in BARS.items() if figures[k] > bar]
    print("bars " + (f"missed: {'; '.join(missed)}" if missed else "kept"))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
