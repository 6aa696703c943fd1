"""Our own choice against what experts write, measured on 8 virtual CPU devices.

    ./mw bench plan_quality                    # every tiny model
    ./mw bench plan_quality gpt moe --episodes 20
    ./mw bench plan_quality --measured         # our plan made with plan --measure
    ./mw bench plan_quality FOLDER/*.hlo.pb    # of ./mw bench development_set FOLDER
    ./mw bench plan_quality --assumed          # plans without calibration

Devices are calibrated first, unless --database names rates or --assumed does without. For
every model a plan is made with each strategy. Two processes of the same plan are some
percent apart for as long as they live, so there are episodes: each compiles every plan in a
process of its own and lets all take a few steps in turn, in another order every round, so
that whatever else runs on the machine meets all alike. An episode gives one ratio, of the
medians relative to their rounds; the table has their means and, for the largest of them, the
standard error. Strategies that are far behind after a few episodes are left out of the
others.
The experts' plans have no stages, as they would have none unasked; ours may
(--whole: not either). A model's figure is ours over the fastest expert. Bars: 1.02 in the geometric
mean and 1.08 at worst by prediction, 1.01 and 1.04 with --measured.
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
from cost_accuracy import BUILD, MODELS, Probe, calibrate, module_of, name_of

STRATEGIES = ["auto", "dp", "zero2", "zero3", "megatron", "sequence", "volume"]
BARS = 1.02, 1.08  # In the geometric mean, and at worst.
MEASURED_BARS = 1.01, 1.04
FIRST_EPISODES = 3
HOPELESS = 0.9  # Of what such a strategy takes, ours takes less.


def make_plans(
    model: str, database: Path | None, folder: Path, measured: bool, whole: bool
) -> dict[str, Path]:
    plans = {}
    rates = ["--database", database] if database else ["--assumed"]
    for strategy in STRATEGIES:
        path = folder / f"{name_of(model)}_{strategy}.json"
        is_ours = strategy == "auto"
        further = ["--measure"] if measured and is_ours else []
        if whole or not is_ours:
            further += ["--stages", "1"]
        done = subprocess.run(
            [BUILD / "meshwright/cli/meshwright", "plan"]
            + [module_of(model), "--cluster", "cpu:8"]
            + [*rates, "--strategy", strategy, "-o", path, *further],
            check=False,
            capture_output=True,
        )
        if done.returncode == 0:
            plans[strategy] = path
    return plans


class Episode:
    """A process of each plan; closed when it ends."""

    def __init__(
        self, model: str, plans: dict, database: Path | None, options, seed: int
    ):
        self.random = random.Random(seed)
        self.probes: dict[str, Probe] = {}
        for strategy in self.shuffled(plans):
            try:
                self.probes[strategy] = Probe(
                    model,
                    plans[strategy],
                    database,
                    flag="--plan",
                    realtime=options.realtime,
                )
            except RuntimeError as error:
                if strategy == "auto":
                    raise
                print(error, file=sys.stderr)

    def shuffled(self, names) -> list[str]:
        names = list(names)
        self.random.shuffle(names)
        return names

    def seconds(self, rounds: int, steps: int) -> dict[str, list[float]]:
        """By strategy and round; the first step of a turn finds cold caches."""
        taken: dict[str, list[float]] = {name: [] for name in self.probes}
        for _ in range(rounds):
            for name in self.shuffled(self.probes):
                probe = self.probes[name]
                probe.steps.clear()
                probe.step(1 + steps)
                taken[name].append(statistics.median(s for s, _ in probe.steps[1:]))
        for probe in self.probes.values():
            probe.close()
        return taken


def relative(taken: dict[str, list[float]]) -> dict[str, float]:
    of = [statistics.geometric_mean(turn) for turn in zip(*taken.values(), strict=True)]
    return {
        name: statistics.median(s / o for s, o in zip(seconds, of, strict=True))
        for name, seconds in taken.items()
    }


def measure(model: str, database: Path | None, options, folder: Path) -> dict:
    plans = make_plans(model, database, folder, options.measured, options.whole)
    rows: dict[str, dict] = {}
    for number in range(options.episodes):
        episode = Episode(model, plans, database, options, number)
        taken = episode.seconds(options.rounds, options.steps)
        ranks = relative(taken)
        for name, probe in episode.probes.items():
            row = rows.setdefault(name, {"ratios": [], "milliseconds": []})
            row["predicted_ms"] = 1e3 * probe.report["predicted"]["step_seconds"]
            row["milliseconds"].append(1e3 * statistics.median(taken[name]))
            row["ratios"].append(ranks["auto"] / ranks[name])
        if number + 1 == FIRST_EPISODES:
            plans = {
                name: path
                for name, path in plans.items()
                if name in rows and statistics.mean(rows[name]["ratios"]) > HOPELESS
            }
    for row in rows.values():
        row["ratio"] = statistics.geometric_mean(row["ratios"])
        row["error"] = (
            statistics.stdev(row["ratios"]) / len(row["ratios"]) ** 0.5
            if len(row["ratios"]) > 1
            else 0.0
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=6, help="of an episode")
    parser.add_argument("--steps", type=int, default=5, help="of a turn")
    parser.add_argument(
        "--measured", action="store_true", help="our plan by plan --measure"
    )
    parser.add_argument(
        "--whole", action="store_true", help="our plan without stages, too"
    )
    parser.add_argument("--database", type=Path, help="of rates measured before")
    parser.add_argument("--assumed", action="store_true", help="do not calibrate")
    parser.add_argument("--realtime", action="store_true", help="before all others")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args()
    columns = STRATEGIES[1:]
    print(describe())
    print(
        "| model | auto, ms | " + " | ".join(f"/ {s}" for s in columns) + " | error |"
    )
    print("|---|---|" + "---|" * (len(columns) + 1))
    results, figures = {}, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = options.database
        if not database and not options.assumed:
            database = calibrate(folder / "profile.db", options.realtime)
        for model in options.models:
            rows = results[model] = measure(model, database, options, folder)
            cells = [f"{rows[s]['ratio']:.3f}" if s in rows else "" for s in columns]
            experts = [row for name, row in rows.items() if name != "auto"]
            fastest = max(experts, key=lambda row: row["ratio"])
            cells.append(f"{fastest['error']:.3f}")
            taken = statistics.median(rows["auto"]["milliseconds"])
            print(
                f"| {name_of(model)} | {taken:.1f} | {' | '.join(cells)} |", flush=True
            )
            figures.append(fastest["ratio"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    mean, worst = statistics.geometric_mean(figures), max(figures)
    bars = MEASURED_BARS if options.measured else BARS
    missed = mean > bars[0] or worst > bars[1]
    print(
        f"auto / fastest expert of {len(figures)}: geometric mean {mean:.3f}, "
        f"worst {worst:.3f}; bars {bars[0]} and {bars[1]}: "
        f"{'missed' if missed else 'kept'}"
    )
    sys.exit(missed)


if __name__ == "__main__":
    main()
