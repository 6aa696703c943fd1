"""Steps of a pipeline as simulated against as executed, by schedule.

    ./mw bench simulated_steps                   # every schedule, two groups of devices
    ./mw bench simulated_steps --schedules 1f1b,zero-bubble --steps 20

A gpt whose stages take at least 20 ms for a micro-batch runs on two virtual devices, each
computing with one thread, so that on two cores they do not disturb one another. For every
step the timetable is simulated with the means of the durations that the programs of each
stage had in that very step (from when their inputs are there to when their results are).
The figure is the median over the steps of simulated / executed.

Bar: within 10 % for every schedule.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe
from meshwright.zoo import gpt
from meshwright.zoo.train_step import Step

ROOT = Path(__file__).resolve().parents[1]
CLI = ROOT / "build/release/meshwright/cli/meshwright"
# Stages, two groups of devices: those in turns have two stages each.
SCHEDULES = {
    "gpipe": 2,
    "1f1b": 2,
    "zero-bubble": 2,
    "interleaved": 4,
    "breadth-first": 4,
    "zero-bubble-v": 4,
}
MICRO_BATCHES = 8
BAR = 0.1


def build() -> Step:
    config = gpt.Config(
        layers=8, width=256, heads=4, vocab=2048, seq=128, batch=4 * MICRO_BATCHES
    )
    return Step(gpt, config)


def run(module: Path, schedule: str, steps: int) -> dict:
    flags = ["--stages", SCHEDULES[schedule], "--ranks", 2, "--schedule", schedule]
    flags += ["--micro-batches", MICRO_BATCHES, "--steps", steps + 2]
    command = [CLI, "run", module, *flags, "--platform", "cpu", "--json"]
    one_thread = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    report = json.loads(
        subprocess.check_output(list(map(str, command)), env=os.environ | one_thread)
    )
    # The first steps warm up.
    executed = report["step_seconds"][2:]
    simulated = report["simulated_seconds"][2:]
    return {
        "schedule": schedule,
        "executed": statistics.median(executed),
        "simulated": statistics.median(simulated),
        "ratio": statistics.median(s / e for s, e in zip(simulated, executed)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    print(describe("jax"))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "gpt.hlo.pb"
        build().lower("cpu").save(module)
        for schedule in options.schedules.split(","):
            row = run(module, schedule, options.steps)
            print(
                f"{schedule:14} executed {1e3 * row['executed']:7.1f} ms  "
                f"simulated {1e3 * row['simulated']:7.1f} ms  "
                f"simulated / executed {row['ratio']:.3f}",
                flush=True,
            )
            if abs(row["ratio"] - 1) > BAR:
                missed.append(schedule)
    print(f"beyond {100 * BAR:.0f} %: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
