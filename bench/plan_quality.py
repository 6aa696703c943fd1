"""Our own choice against what experts write, measured on 8 virtual CPU devices.

    ./mw bench plan_quality                    # every tiny model
    ./mw bench plan_quality gpt moe --rounds 20

Devices are calibrated first, unless --database names rates. For every model a plan is
made with each strategy; each is compiled in several processes, since two of the same plan
are up to 9 % apart for as long as they live, and all are stepped in turn, in another order
every round, so that whatever else runs on the machine meets all alike. A process counts
with the median of its steps relative to their round, a plan with the mean of its processes.
Bar: at most 1.02 against the fastest. The last column says how far apart the processes of
our own plan are.
"""

import argparse
import json
import random
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


def start(model: str, plans: dict, database: Path, options) -> dict[str, list[Probe]]:
    probes = {}
    for _ in range(options.copies):
        for strategy, path in plans.items():
            try:
                probe = Probe(
                    model, path, database, flag="--plan", realtime=options.realtime
                )
                probes.setdefault(strategy, []).append(probe)
            except RuntimeError as error:
                if strategy == "auto":
                    raise
                print(error, file=sys.stderr)
    return probes


def measure(model: str, database: Path, options, folder: Path) -> dict:
    probes = start(model, make_plans(model, database, folder), database, options)
    every = [probe for copies in probes.values() for probe in copies]
    order = list(every)
    for turn in range(options.rounds):
        random.Random(turn).shuffle(order)  # A step depends on the one before.
        for probe in order:
            probe.step(1)
    rounds = [
        statistics.geometric_mean(probe.steps[turn][0] for probe in every)
        for turn in range(options.rounds)
    ]
    rows = {}
    for strategy, copies in probes.items():
        relative = []
        for probe in copies:
            probe.close()
            steps = zip(probe.steps, rounds, strict=True)
            relative.append(statistics.median(step[0] / of for step, of in steps))
        rows[strategy] = {
            "measured_ms": 1e3
            * statistics.median(step[0] for probe in copies for step in probe.steps),
            "predicted_ms": 1e3 * copies[0].report["predicted"]["step_seconds"],
            "relative": relative,
        }
    ours = statistics.mean(rows["auto"]["relative"])
    for row in rows.values():
        row["ratio"] = ours / statistics.mean(row["relative"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--copies", type=int, default=3, help="processes of a plan")
    parser.add_argument("--database", type=Path, help="of rates measured before")
    parser.add_argument("--realtime", action="store_true", help="before all others")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args()
    columns = STRATEGIES[1:]
    print(describe())
    print(
        "| model | auto, ms | "
        + " | ".join(f"/ {s}" for s in columns)
        + " | own, apart |"
    )
    print("|---|---|" + "---|" * (len(columns) + 1))
    results, worst = {}, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = options.database or calibrate(
            folder / "profile.db", options.realtime
        )
        for model in options.models:
            rows = results[model] = measure(model, database, options, folder)
            cells = [f"{rows[s]['ratio']:.3f}" if s in rows else "" for s in columns]
            own = rows["auto"]["relative"]
            cells.append(f"{max(own) / min(own):.3f}")
            print(
                f"| {model} | {rows['auto']['measured_ms']:.1f} | "
                + " | ".join(cells)
                + " |",
                flush=True,
            )
            worst = max(worst, *(rows[s]["ratio"] for s in STRATEGIES if s in rows))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    print(
        f"largest ratio {worst:.3f}, bar {BAR}: {'kept' if worst <= BAR else 'missed'}"
    )
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
