"""Messages between two processes of this machine: shared memory against TCP.

    ./mw bench messages

64 KiB, 1 MiB and 64 MiB, copied into a message, sent, and copied out at the other end;
one way, sides in turn, medians of rounds: time, and processor time of both processes.
Bar: shared memory costs less of either.
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
SIZES = {"64 KiB": 64 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
REPEATS = {64 << 10: 1000, 1 << 20: 200, 64 << 20: 8}


def one_way(program: Path, size: int, tcp: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as store:
        words = [program, "--store", store, "--bytes", size, "--repeat", REPEATS[size]]
        words += ["--tcp"] if tcp else []
        sides = [
            subprocess.Popen(
                [*map(str, words), "--rank", str(rank)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        said = [side.communicate()[0] for side in sides]
        if any(side.returncode for side in sides):
            sys.exit(f"{program} failed")
        return json.loads(said[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--program", type=Path, default=ROOT / "build/release/bench/message_bench"
    )
    options = parser.parse_args()
    print(describe(), flush=True)
    worst = 0.0
    for name, size in SIZES.items():
        rounds = [
            [one_way(options.program, size, tcp) for tcp in (False, True)]
            for _ in range(options.rounds)
        ]
        for what in ("microseconds", "processor"):
            sides = [[shared[what], tcp[what]] for shared, tcp in rounds]
            shared, tcp = (statistics.median(side) for side in zip(*sides, strict=True))
            ratio = statistics.median(a / b for a, b in sides)
            print(
                f"{name:6}  {what:12}  shared {shared:9.1f} us  tcp {tcp:9.1f} us  "
                f"ratio {ratio:.2f}",
                flush=True,
            )
            worst = max(worst, ratio)
    return 0 if worst <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
