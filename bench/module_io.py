"""Reading, verifying and writing a large module.

    ./mw bench module_io            # gpt 175b, unrolled, lowered from shapes alone
    ./mw bench module_io FILE

Bars: read + verify at most 1.0 s, write at most 0.5 s, peak memory at most 40 times
the file.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--tool", type=Path, default=ROOT / "build/release/bench/module_io"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file
        if path is None:
            from meshwright.zoo import build

            path = Path(folder) / "gpt_175b.hlo.pb"
            build("gpt", "175b").lower().save(path)
        command = [options.tool, path, str(options.rounds)]
        report = json.loads(subprocess.check_output(command))
    seconds = {
        key: statistics.median(report[key])
        for key in ("read", "verify", "write", "print")
    }
    print(f"{report['instructions']} instructions, {report['file_bytes']} bytes")
    print(f"read + verify  {seconds['read'] + seconds['verify']:.3f} s")
    print(f"write          {seconds['write']:.3f} s")
    print(f"print          {seconds['print']:.3f} s")
    print(
        f"peak memory    {report['peak_bytes'] / report['file_bytes']:.1f} x the file"
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
