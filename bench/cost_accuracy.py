"""What the cost model predicts against what runs, on 8 virtual CPU devices.

    ./mw bench cost_accuracy                     # every plan of gpt, moe, wide_resnet
    ./mw bench cost_accuracy vit bert --rounds 20
    ./mw bench cost_accuracy --random 40         # random plans in place of experts'
    ./mw bench cost_accuracy --random 40 --seed 100 --memory-only   # compiles, runs nothing

Devices are calibrated first (`meshwright profile --calibrate`), unless --database names
rates. Then, model by model, all plans are compiled, and stepped in turn. A step counts
with the processor time it takes, over the cores: what else runs on the machine would
otherwise decide the order; --realtime (root) also keeps others from running in
between, which clear caches and move threads. Of all rounds the fastest tenth is taken.
Prints per plan the predicted and measured step and the predicted memory over the
compiler's own count.
Bars: Spearman's rank correlation of each model's plans at least 0.9; memory within 10 %.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe
from _random_plans import random_plan

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
MODELS = ["gpt", "gpt_scan", "llama", "moe", "bert", "vit", "wide_resnet", "unet"]
RANK_BAR, MEMORY_BAR = 0.9, 0.1


def module_of(model: str) -> Path:
    """A tiny model of the zoo, or the file of a module."""
    if ".hlo" in model:
        return Path(model)
    return ROOT / f"testdata/{model}_tiny.hlo.pb.zst"


def name_of(model: str) -> str:
    return Path(model).name.split(".")[0]


class Probe:
    """A plan, compiled, to be stepped."""

    def __init__(
        self,
        model: str,
        plan: Path,
        database: Path | None,
        flag: str = "--sharding",
        realtime: bool = False,
    ):
        self.name = plan.stem
        command = [BUILD / "bench/cost_probe", module_of(model), flag, plan]
        command += ["--database", database] if database else []  # Else assumed.
        self._process = subprocess.Popen(
            [*map(str, command), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{plan.stem} does not compile")
        self.report = json.loads(line)
        if realtime:  # Once it is compiled.
            set_priority = ["chrt", "-a", "-r", "-p", "1", str(self._process.pid)]
            subprocess.run(set_priority, check=True)
        self.steps: list[list[float]] = []
        self.step(2)
        self.steps.clear()

    def step(self, count: int) -> None:
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        self.steps += json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def plans_of(model: str) -> list[Path]:
    others = [m for m in ("gpt_scan",) if m.startswith(model) and m != model]
    return [
        path
        for path in sorted((ROOT / "testdata/plans").glob(f"{model}_*.json"))
        if not any(path.stem.startswith(f"{other}_") for other in others)
    ]


def random_plans_of(
    model: str, count: int, first_seed: int, folder: Path
) -> list[Path]:
    inspect = subprocess.run(
        [BUILD / "meshwright/cli/meshwright", "inspect", module_of(model), "--json"],
        check=True,
        capture_output=True,
    )
    parameters = json.loads(inspect.stdout)["parameters"]
    paths = []
    for seed in range(first_seed, first_seed + count):
        paths.append(folder / f"{name_of(model)}_random{seed}.json")
        paths[-1].write_text(json.dumps(random_plan(parameters, seed)))
    return paths


def compare_memory(model: str, plans: list[Path]) -> list[dict]:
    """Predicted memory over the compiler's, which its optimization of code, left
    out here, does not change."""
    quickly = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
    rows = []
    for plan in plans:
        command = [BUILD / "bench/cost_probe", module_of(model)]
        command += ["--sharding", plan, "--serve"]
        probe = subprocess.run(
            list(map(str, command)),
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **quickly},
        )
        report = json.loads(probe.stdout.splitlines()[0])
        ratio = report["predicted"]["peak_bytes"] / report["memory"]["peak_bytes"]
        rows.append({"case": plan.stem, "model": model, "memory_ratio": ratio})
        print(f"{plan.stem:24} {ratio:7.3f}", flush=True)
    return rows


def fast_tenth(values) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 10]


def measure(
    model: str, plans: list[Path], database: Path, rounds: int, realtime: bool
) -> list[dict]:
    probes = [Probe(model, plan, database, realtime=realtime) for plan in plans]
    for _ in range(rounds):
        for probe in probes:
            probe.step(1)
    rows = []
    for probe in probes:
        probe.close()
        wall, cpu = zip(*probe.steps, strict=True)
        predicted = probe.report["predicted"]
        rows.append(
            {
                "case": probe.name,
                "model": model,
                "predicted_ms": predicted["step_seconds"] * 1e3,
                "comm_ms": predicted["comm_seconds"] * 1e3,
                "measured_ms": fast_tenth(cpu) / min(8, os.cpu_count()) * 1e3,
                "wall_ms": fast_tenth(wall) * 1e3,
                "memory_ratio": predicted["peak_bytes"]
                / probe.report["memory"]["peak_bytes"],
            }
        )
        _print_row(rows[-1])
    return rows


def _print_row(row: dict) -> None:
    ratio = row["predicted_ms"] / row["measured_ms"]
    print(
        f"{row['case']:24} {row['predicted_ms']:9.2f} {row['comm_ms']:7.2f} "
        f"{row['measured_ms']:9.2f} {ratio:6.2f} {row['wall_ms']:9.2f} "
        f"{row['memory_ratio']:7.3f}",
        flush=True,
    )


def spearman(a: list[float], b: list[float]) -> float:
    def ranks(values):
        # Equal values share the mean of their ranks.
        return [
            sum(x < v for x in values) + (sum(x == v for x in values) - 1) / 2
            for v in values
        ]

    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    squares = [sum((x - mean) ** 2 for x in v) for v in (a, b)]
    return top / (squares[0] * squares[1]) ** 0.5


def correlation(rows: list[dict]) -> float:
    return spearman(
        [row["predicted_ms"] for row in rows], [row["measured_ms"] for row in rows]
    )


def calibrate(path: Path, realtime: bool) -> Path:
    command = ["chrt", "-r", "1"] if realtime else []
    command += [BUILD / "meshwright/cli/meshwright", "profile", "--calibrate"]
    subprocess.run(
        [*map(str, command), "--cpu-time", "--database", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return path


def plans_for(model: str, options, folder: Path) -> list[Path]:
    if not options.random:
        return plans_of(model)
    return random_plans_of(model, options.random, options.seed, folder)


def measure_all(options, folder: Path) -> list[dict]:
    database = options.database or calibrate(folder / "profile.db", options.realtime)
    print(
        f"{'case':24} {'predicted':>9} {'comm':>7} {'measured':>9} {'ratio':>6} "
        f"{'wall ms':>9} {'memory':>7}"
    )
    rows = []
    for model in options.models:
        plans = plans_for(model, options, folder)
        rows += measure(model, plans, database, options.rounds, options.realtime)
    return rows


def compare_all(options, folder: Path) -> list[dict]:
    rows = []
    for model in options.models:
        rows += compare_memory(model, plans_for(model, options, folder))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--random", type=int, help="so many random plans per model")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument("--memory-only", action="store_true", help="run no steps")
    parser.add_argument("--database", type=Path, help="of rates measured before")
    parser.add_argument("--realtime", action="store_true", help="before all others")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args()
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        compare = compare_all if options.memory_only else measure_all
        rows = compare(options, Path(folder))
    summary = {"rows": rows}
    missed = False
    for model in options.models:
        chosen = [row for row in rows if row["model"] == model]
        close = sum(abs(row["memory_ratio"] - 1) <= MEMORY_BAR for row in chosen)
        line = f"{model}: memory within 10 % for {close} of {len(chosen)}"
        if not options.memory_only:
            rank = correlation(chosen)
            summary["rank"] = min(rank, summary.get("rank", 1))
            missed = missed or rank < RANK_BAR
            line += f", rank correlation {rank:.3f}"
        print(line)
    worst = max(abs(row["memory_ratio"] - 1) for row in rows)
    print(f"memory within {100 * worst:.1f} %")
    if options.json:
        options.json.write_text(json.dumps(summary, indent=1))
    missed = missed or worst > MEMORY_BAR
    bars = f"{MEMORY_BAR}" if options.memory_only else f"{RANK_BAR} and {MEMORY_BAR}"
    print(f"bars {bars}: {'missed' if missed else 'kept'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
