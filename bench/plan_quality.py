"""Our own choice against what experts write, measured on 8 virtual CPU devices.

    ./mw bench plan_quality                    # every tiny model
    ./mw bench plan_quality gpt moe --rounds 20

Devices are calibrated first, unless --database names rates. For every model a plan is
made with each strategy; all are compiled, and stepped in turn, so that whatever else
runs on the machine meets all alike. Ratios are of our step to the strategy's of the same
round; the median counts. Bar: at most 1.02 against the fastest.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe
from cost_accuracy import BUILD, MODELS, ROOT, Probe, calibrate

STRATEGIES = ["auto", "dp", "zero2", "zero3", "megatron", "sequence", "volume"]
BAR = 1.02


def make_plans(model: str, database: Path, folder: Path) -> dict[str, Path]:
    plans = {}
    for strategy in STRATEGIES:
        path = folder / f"{model}_{strategy}.json"
        done = subprocess.run(
            [BUILD / "meshwright/cli/meshwright", "plan"]
            + [ROOT / f"testdata/{model}_tiny.hlo.pb.zst", "--cluster", "cpu:8"]
            + ["--database", database, "--strategy", strategy, "-o", path]
            + ["--stages", "1"],  # A mesh holds the whole step.
            check=False,
            capture_output=True,
        )
        if done.returncode == 0:
            plans[strategy] = path
    return plans


def measure(model: str, database: Path, options, folder: Path) -> dict:
    plans = make_plans(model, database, folder)
    probes = {}
    for strategy, path in plans.items():
        try:
            probes[strategy] = Probe(
                model, path, database, flag="--plan", realtime=options.realtime
            )
        except RuntimeError as error:
            if strategy == "auto":
                raise
            print(error, file=sys.stderr)
    for _ in range(options.rounds):
        for probe in probes.values():
            probe.step(1)
    rows = {}
    for strategy, probe in probes.items():
        probe.close()
        wall = [step[0] for step in probe.steps]
        rows[strategy] = {
            "measured_ms": 1e3 * statistics.median(wall),
            "predicted_ms": 1e3 * probe.report["predicted"]["step_seconds"],
            "ratio": statistics.median(
                ours[0] / theirs[0]
                for ours, theirs in zip(probes["auto"].steps, probe.steps, strict=True)
            ),
        }
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--database", type=Path, help="of rates measured before")
    parser.add_argument("--realtime", action="store_true", help="before all others")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args()
    print(describe())
    print("| model | auto, ms | " + " | ".join(f"/ {s}" for s in STRATEGIES[1:]) + " |")
    print("|---|---|" + "---|" * (len(STRATEGIES) - 1))
    results, worst = {}, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = options.database or calibrate(
            folder / "profile.db", options.realtime
        )
        for model in options.models:
            rows = results[model] = measure(model, database, options, folder)
            cells = [
                f"{rows[s]['ratio']:.3f}" if s in rows else "" for s in STRATEGIES[1:]
            ]
            print(
                f"| {model} | {rows['auto']['measured_ms']:.1f} | "
                + " | ".join(cells)
                + " |",
                flush=True,
            )
            worst = max(worst, *(row["ratio"] for row in rows.values()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    print(
        f"largest ratio {worst:.3f}, bar {BAR}: {'kept' if worst <= BAR else 'missed'}"
    )
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
