"""Cost and bound of the strategy solver on public IOPDDL problems.

    ./mw bench solver --problems FOLDER                # all four, limits below
    ./mw bench solver --problems FOLDER G A --seeds 3

FOLDER holds asplos-2025-iopddl-X.json.gz (github.com/google/iopddl). The peer is the best
entry of the contest, which had many cores and the contest's own time limit; we have this
machine. Cost and usage are worked out here, from the assignment alone.
Bars: never above the best entry, never above the usage limit, always a lower bound, at
most 2 % below the cost, never past the time limit.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]

# Our time limit in seconds, and the contest's best cost.
PEERS = {
    "A": (60, 6548641531),
    "G": (2, 217039),
    "M": (60, 49928460991),
    "S": (60, 1534613444),
}
WIDEST_GAP = 0.02


def evaluate(path: Path, chosen: list[int]) -> tuple[int, bool]:
    """What an assignment costs, and whether it stays within the limit."""
    with gzip.open(path) as file:
        problem = json.load(file)["problem"]
    nodes, edges = problem["nodes"], problem["edges"]
    assert len(chosen) == len(nodes["costs"]), "one option per node"
    cost = sum(c[a] for c, a in zip(nodes["costs"], chosen, strict=True))
    for (i, j), table in zip(edges["nodes"], edges["costs"], strict=True):
        cost += table[chosen[i] * len(nodes["costs"][j]) + chosen[j]]
    steps: dict[int, int] = {}
    lives = zip(nodes["intervals"], nodes["usages"], chosen, strict=True)
    for (begin, end), usage, a in lives:
        if end > begin:
            steps[begin] = steps.get(begin, 0) + usage[a]
            steps[end] = steps.get(end, 0) - usage[a]
    now = peak = 0
    for moment in sorted(steps):
        now += steps[moment]
        peak = max(peak, now)
    limit = problem.get("usage_limit")
    return cost, limit is None or peak <= limit


def measure(name: str, seed: int, options) -> dict:
    path = options.problems / f"asplos-2025-iopddl-{name}.json.gz"
    limit, peer = PEERS[name]
    words = [options.binary, "solve", path, "--time-limit", limit, "--seed", seed]
    start = time.monotonic()
    out = subprocess.check_output([*map(str, words), "--json"])
    seconds = time.monotonic() - start
    answer = json.loads(out)
    cost, fits = evaluate(path, answer["assignment"])
    bound = answer["lower_bound"]
    kept = {
        "cost": cost == answer["cost"] and cost <= peer,
        "usage": fits,
        "bound": bound <= cost and (cost - bound) <= WIDEST_GAP * cost,
        "time": seconds <= limit,
    }
    return {
        "problem": name,
        "seed": seed,
        "cost": cost,
        "ratio to best entry": cost / peer,
        "lower bound": bound,
        "gap": (cost - bound) / cost,
        "proved optimal": answer["proved_optimal"],
        "seconds": seconds,
        "load": os.getloadavg()[0],
        "missed": [bar for bar, is_kept in kept.items() if not is_kept],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(PEERS))
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    default = ROOT / "build/release/meshwright/cli/meshwright"
    binary = os.environ.get("MESHWRIGHT_BIN", default)
    parser.add_argument("--binary", type=Path, default=binary)
    options = parser.parse_args()
    unknown = set(options.names) - set(PEERS)
    if unknown:
        parser.error(f"no figures to compare with for {', '.join(sorted(unknown))}")
    rows = []
    if not options.json:
        print(describe())
    for name in options.names:
        for seed in range(1, options.seeds + 1):
            row = measure(name, seed, options)
            rows.append(row)
            if options.json:
                continue
            proof = "optimal" if row["proved optimal"] else f"gap {row['gap']:.3%}"
            print(
                f"{name} seed {seed}: {row['cost']:>13,}  x{row['ratio to best entry']:.5f}"
                f"  bound {row['lower bound']:>13,}  {proof}  {row['seconds']:.1f} s"
                f"  load {row['load']:.1f}",
                flush=True,
            )
    missed = [f"{r['problem']}: {bar}" for r in rows for bar in r["missed"]]
    if options.json:
        print(json.dumps({"machine": describe(), "rows": rows, "missed": missed}))
    else:
        print("bars " + (f"missed: {'; '.join(missed)}" if missed else "kept"))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
