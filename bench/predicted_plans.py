"""What each strategy is predicted to take on H200 clusters, beside our own choice.

    ./mw bench predicted_plans
    ./mw bench predicted_plans gpt:39b@h200:8x8

Modules are lowered from shapes alone, plans are made with assumed rates. A cell is the
predicted step in seconds; a strategy that no number of micro-batches makes fit into the
devices' memory has the memory it would need. All plans of a row are for the same module
and cluster, priced by the same model; nothing of this is run.
"""

import argparse
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

from _machine import describe
from _replay_cases import PUBLISHED, lower

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "build/release/meshwright/cli/meshwright"
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


def plan(module: Path, cluster: str, strategy: str, time_limit: float) -> str:
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
        return f"needs {wanted.group(1)}" if wanted else "does not fit"
    report = json.loads(done.stdout)
    text = f"{report['predicted']['step_seconds']:.4g}"
    if strategy == "auto":
        text += f" ({how(report)}, planned in {seconds:.1f} s)"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=PUBLISHED)
    parser.add_argument("--time-limit", type=float, default=60, help="of a plan")
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    options = parser.parse_args()
    print(describe())
    print("| module and cluster | " + " | ".join(STRATEGIES) + " |")
    print("|---|" + "---|" * len(STRATEGIES))
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases:
            model, cluster = case.split("@")
            module = lower(model, options.modules or Path(folder))
            cells = [
                plan(module, cluster, strategy, options.time_limit)
                for strategy in STRATEGIES
            ]
            print(f"| {model}, {cluster} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
