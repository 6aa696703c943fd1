"""What each strategy is predicted to take on H200 clusters, beside our own choice.

    ./mw bench predicted_plans
    ./mw bench predicted_plans gpt:39b@h200:8x8
    ./mw bench predicted_plans --clusters h200:8,h200:8x8,h200:64x8 --strategies auto

Modules are lowered from shapes alone, plans are made with assumed rates. A cell is the
predicted step in seconds; a strategy that no number of micro-batches makes fit into the
devices' memory has the memory it would need. All plans of a row are for the same module
and cluster, priced by the same model; nothing of this is run. Bar: auto is within 3 % of
the best, pipelines included.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _machine import describe
from _replay_cases import PUBLISHED, lower

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "build/release/meshwright/cli/meshwright"
BAR = 0.03
STRATEGIES = ["auto", "dp", "zero2", "zero3", "megatron", "sequence", "volume"]


def how(report: dict) -> str:
    """The choices of a plan, in words."""
    mesh = ",".join(f"{axis}={size}" for axis, size in report["mesh"].items())
    parts = [mesh]
    if report["stages"] > 1:
        parts.append(f"{report['stages']} stages")
    if report["micro_batches"] > 1:
        parts.append(f"{report['micro_batches']} micro-batches")
    if report["recompute"] != "none":
        parts.append(f"{report['recompute']} recomputation")
    parts.append(f"{report['predicted']['peak_bytes'] / 2**30:.0f} GiB")
    parts.append(f"within {100 * report['bound']['gap']:.1f} %")
    return ", ".join(parts)


def plan(
    module: Path, cluster: str, strategy: str, time_limit: float
) -> tuple[str, float]:
    """The cell, and the gap; 1 if nothing was planned."""
    begin = time.monotonic()
    done = subprocess.run(
        [TOOL, "plan", module, "--cluster", cluster, "--assumed"]
        + ["--strategy", strategy, "--time-limit", str(time_limit), "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        wanted = re.search(r"([0-9.]+ [KMGT]iB) would", done.stderr)
        return f"needs {wanted.group(1)}" if wanted else "does not fit", 1
    report = json.loads(done.stdout)
    text = f"{report['predicted']['step_seconds']:.4g}"
    if strategy == "auto":
        text += f" ({how(report)}, planned in {seconds:.1f} s)"
    return text, report["bound"]["gap"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=PUBLISHED)
    parser.add_argument(
        "--clusters", help="A,B: plan the cases' models for these instead"
    )
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--time-limit", type=float, default=60, help="of a plan")
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    options = parser.parse_args()
    strategies = options.strategies.split(",")
    unknown = [name for name in strategies if name not in STRATEGIES]
    if unknown:
        parser.error(f"no strategy {unknown[0]}; there are {', '.join(STRATEGIES)}")
    cases = options.cases
    if options.clusters:
        models = dict.fromkeys(case.split("@")[0] for case in cases)
        clusters = options.clusters.split(",")
        cases = [f"{model}@{cluster}" for model in models for cluster in clusters]
    lacking = [case for case in cases if "@" not in case]
    if lacking:
        parser.error(f"{lacking[0]}: name a cluster, as in {lacking[0]}@h200:8")
    print(describe())
    print("| module and cluster | " + " | ".join(strategies) + " |")
    print("|---|" + "---|" * len(strategies))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            model, cluster = case.split("@")
            module = lower(model, options.modules or Path(folder))
            cells = []
            for strategy in strategies:
                cell, gap = plan(module, cluster, strategy, options.time_limit)
                cells.append(cell)
                if strategy == "auto" and gap > BAR:
                    missed.append(case)
            print(f"| {model}, {cluster} | " + " | ".join(cells) + " |", flush=True)
    rows = f"missed by {', '.join(missed)}" if missed else "kept"
    print(f"bar, a gap of {100 * BAR:.0f} %: {rows}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
