"""What each strategy is predicted to take on H200 clusters, beside our own choice.

    ./mw bench predicted_plans
    ./mw bench predicted_plans gpt:39b@h200:8x8
    ./mw bench predicted_plans --clusters h200:8,h200:8x8,h200:64x8 --strategies auto
    ./mw bench predicted_plans models/*.hlo.pb --clusters a100-40:4x8,spine

A model is a name of the zoo with a size, lowered from shapes alone, or a module's file; a
cluster is a short form, a cluster file or a name of _cluster_cases.py. Plans are made with assumed rates. A cell is the
predicted step in seconds; a strategy that no number of micro-batches makes fit into the
devices' memory has the memory it would need. All plans of a row are for the same module
and cluster, priced by the same model; nothing of this is run. Bars: auto is within 3 % of
the best, pipelines included; no strategy is faster by 0.1 %; planning takes at most 1.1
times the time limit; every stage has work; nothing crashes.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from _cluster_cases import cluster_of
from _machine import describe
from _replay_cases import PUBLISHED, module_of

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "build/release/meshwright/cli/meshwright"
BAR = 0.03
SLOWER = 1.001  # Than the best strategy.
LATE = 1.1  # Of the time limit.
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


@dataclass
class Cell:
    """A plan, or why there is none."""

    text: str
    step: float = math.inf
    gap: float = 1
    faults: list[str] = field(default_factory=list)


def plan(tool: Path, module: Path, cluster: str, strategy: str, limit: float) -> Cell:
    begin = time.monotonic()
    done = subprocess.run(
        [tool, "plan", module, "--cluster", cluster, "--assumed"]
        + ["--strategy", strategy, "--time-limit", str(limit), "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - begin
    faults = []
    if seconds > LATE * limit:
        faults.append(f"{strategy} took {seconds:.0f} s")
    if done.returncode != 0:
        if done.returncode not in (1, 2):
            faults.append(f"{strategy} ended with {done.returncode}")
        wanted = re.search(r"([0-9.]+ [KMGT]iB) would", done.stderr)
        text = f"needs {wanted.group(1)}" if wanted else "does not fit"
        return Cell(text, faults=faults)
    report = json.loads(done.stdout)
    for stage in report.get("pipeline", {}).get("stages", []):
        if not stage["forward_seconds"] > 0:
            faults.append(f"{strategy} has a stage without work")
    step = report["predicted"]["step_seconds"]
    text = f"{step:.4g}"
    if strategy == "auto":
        text += f" ({how(report)}, planned in {seconds:.1f} s)"
    return Cell(text, step, report["bound"]["gap"], faults)


def faults_of(cells: dict[str, Cell]) -> list[str]:
    """What a row misses."""
    faults = [one for cell in cells.values() for one in cell.faults]
    auto = cells.get("auto")
    if auto is None:
        return faults
    best = min(cells, key=lambda name: cells[name].step)
    if auto.step > SLOWER * cells[best].step:
        faults.append(f"{best} is faster by {auto.step / cells[best].step - 1:.2%}")
    if auto.step < math.inf and auto.gap > BAR:
        faults.append(f"a gap of {auto.gap:.1%}")
    return faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", default=PUBLISHED)
    parser.add_argument(
        "--clusters", help="A,B: plan the cases' models for these instead"
    )
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--time-limit", type=float, default=60, help="of a plan")
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    parser.add_argument("--tool", default=TOOL, help="another build's meshwright")
    options = parser.parse_args()
    strategies = options.strategies.split(",")
    unknown = [name for name in strategies if name not in STRATEGIES]
    if unknown:
        parser.error(f"no strategy {unknown[0]}; there are {', '.join(STRATEGIES)}")
    cases = options.cases
    if options.clusters:
        models = dict.fromkeys(case.rsplit("@", 1)[0] for case in cases)
        clusters = options.clusters.split(",")
        cases = [f"{model}@{cluster}" for model in models for cluster in clusters]
    lacking = [case for case in cases if "@" not in case]
    if lacking:
        parser.error(f"{lacking[0]}: name a cluster, as in {lacking[0]}@h200:8")
    print(describe())
    print("| module and cluster | " + " | ".join(strategies) + " |")
    print("|---|" + "---|" * len(strategies))
    missed = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            model, cluster = case.rsplit("@", 1)
            module = module_of(model, options.modules or Path(folder))
            given = cluster_of(cluster, Path(folder))
            cells = {
                one: plan(options.tool, module, given, one, options.time_limit)
                for one in strategies
            }
            name = f"{Path(model).name}, {Path(cluster).name}"
            row = " | ".join(cell.text for cell in cells.values())
            print(f"| {name} | {row} |", flush=True)
            if faults := faults_of(cells):
                missed[name] = faults
    for name, faults in missed.items():
        print(f"{name}: {'; '.join(faults)}")
    kept = len(cases) - len(missed)
    print(f"bars (see --help): kept by {kept} of {len(cases)} rows")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
