"""Written / estimated: do candidates take, as programs, what they were compared by?

    ./mw bench estimates                              # tiny zoo on small clusters
    ./mw bench estimates gpt:2.6b llama:7b --clusters h200:8x8,h200:64x8
    ./mw bench estimates --stages 2,4,8                # pipelines alone
    ./mw bench estimates models/*.hlo.pb

A model is a name of the zoo with a size, or a module's file. A row is a module and a
cluster: of every plan that was written, with stages or without, what its program is
predicted to take over what its sketch was estimated to. Planned with assumed rates;
nothing is run. Bars: 1.05 apart in the median, 1.15 at most.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

from _machine import describe
from _replay_cases import ROOT, TINY, module_of

BARS = 1.05, 1.15
TOOL = ROOT / "build/release/meshwright/cli/meshwright"


def ratios(report: dict) -> list[float]:
    """Of the plan, then of others that were written."""
    predicted = report["predicted"]
    own = (predicted["step_seconds"], predicted["search_seconds"])
    others = [
        (one["predicted_seconds"], one["seconds"])
        for one in report["alternatives"]
        if one["predicted_seconds"] > 0 and one["seconds"] > 0
    ]
    if own in others:  # The plan is among them.
        others.remove(own)
    return [program / estimate for program, estimate in [own, *others]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=TINY)
    parser.add_argument("--clusters", default="h200:8,h200:8x8,h200:64x8")
    parser.add_argument("--stages", default="any", help="A,B: plan for so many, each")
    parser.add_argument("--time-limit", type=float, default=60, help="of a plan")
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    parser.add_argument("--tool", default=TOOL, help="another build's meshwright")
    options = parser.parse_args()
    print(describe())
    print("| module and cluster | plan | step, s | written / estimated | others |")
    print("|---|---|---|---|---|")
    every = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            module = module_of(model, options.modules or Path(folder))
            for cluster, wanted in product(
                options.clusters.split(","), options.stages.split(",")
            ):
                command = [options.tool, "plan", module, "--cluster", cluster]
                command += ["--assumed", "--json"]
                command += ["--stages", wanted] if wanted != "any" else []
                command += ["--time-limit", str(options.time_limit)]
                done = subprocess.run(
                    command, check=False, capture_output=True, text=True
                )
                name = f"{Path(model).name}, {cluster}"
                if done.returncode != 0:
                    print(f"| {name} | {done.stderr.strip()[-60:]} | | | |", flush=True)
                    continue
                report = json.loads(done.stdout)
                found = ratios(report)
                every += found
                mesh = ",".join(f"{a}={n}" for a, n in report["mesh"].items())
                stages = report["stages"]
                plan = mesh + (f", {stages} stages" if stages > 1 else "")
                others = " ".join(f"{one:.2f}" for one in found[1:])
                step = report["predicted"]["step_seconds"]
                print(
                    f"| {name} | {plan} | {step:.4g} | {found[0]:.2f} | {others} |",
                    flush=True,
                )
    off = [max(one, 1 / one) for one in every]
    median, most = statistics.median(off), max(off)
    print(f"{len(off)} plans: median {median:.3f}, most {most:.3f} apart")
    missed = median > BARS[0] or most > BARS[1]
    print(f"bars {BARS[0]}, {BARS[1]}: {'missed' if missed else 'kept'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
