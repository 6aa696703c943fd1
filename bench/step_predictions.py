"""Predicted against measured steps on one device.

    ./mw bench step_predictions testdata/*_tiny.hlo.pb.zst
    ./mw bench step_predictions build/development_set/*.hlo.pb
    ./mw bench step_predictions --published    # of the zoo, sizes that fit one H200
    ./mw bench step_predictions "vit huge --batch 32 --dtype bf16"

A step is a module's file, or in quotes what `python -m meshwright.zoo lower` takes. It is
planned for one device at assumed rates (or --calibrated) and run with the plan on this
machine; the median of steps after the first eight counts. Prints both times, their ratio,
and that of peak memory where the device tells it. Bars: within 25 % for small steps, 10 %
for those of 10 ms and more.

A machine with the program and jax will do, without ./mw: PYTHONPATH=python python
bench/step_predictions.py --published --binary meshwright.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
BARS = {"small": 1.25, "large": 1.10}
LARGE_SECONDS = 1e-2
WARMUP = 8
HEADER = f"{'step':56} {'predicted':>10} {'measured':>10} {'ratio':>6} {'memory':>6}"
PUBLISHED = [
    "gpt 117m --batch 8 --dtype bf16",
    "gpt-scan 117m --batch 8 --dtype bf16",
    "moe 380m --batch 8 --dtype bf16",
    "llama 7b --layers 4 --seq 2048 --batch 2 --dtype bf16",
    "vit large --batch 32 --dtype bf16",
    "bert large --batch 16 --dtype bf16",
    "wide-resnet 250m --batch 32 --dtype f32",
    "wide-resnet 250m --batch 32 --dtype bf16",
]


def module_of(step: str, platform: str, folder: Path) -> Path:
    """Lowered once in a folder."""
    if " " not in step:
        return Path(step)
    path = folder / (step.replace(" ", "_") + ".hlo.pb")
    if path.exists():
        return path
    words = ["lower", *step.split(), "--platform", platform, "-o", path]
    subprocess.run(
        [sys.executable, "-m", "meshwright.zoo", *words],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},  # The device is for `run`.
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return path


def name_of(step: str) -> str:
    return step if " " in step else Path(step).name.split(".hlo")[0]


def tool(step: str, binary: Path, *words) -> dict | None:
    argv = [binary, *map(str, words), "--json"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"{name_of(step)}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def measure(
    step: str, folder: Path, options, recompute="none", micro_batches=1
) -> tuple[float, float, float | None] | None:
    """Predicted and measured seconds, and predicted / measured peak memory."""
    module = module_of(step, options.platform, folder)
    plan = folder / "plan.json"
    words = ["--cluster", options.cluster, "--stages", 1, "-o", plan]
    words += ["--micro-batches", micro_batches, "--recompute", recompute]
    words += [] if options.calibrated else ["--assumed"]
    planned = tool(step, options.binary, "plan", module, *words)
    if planned is None:
        return None
    words = ["--plan", plan, "--platform", options.platform]
    words += ["--steps", WARMUP + options.steps]
    ran = tool(step, options.binary, "run", module, *words)
    if ran is None:
        return None
    measured = statistics.median(ran["step_seconds"][WARMUP:])
    peaks = ran["predicted_peak_bytes"], ran["measured_peak_bytes"]
    memory = peaks[0] / peaks[1] if all(peaks) else None
    return planned["predicted"]["step_seconds"], measured, memory


def row(step: str, predicted: float, measured: float, memory: float | None) -> str:
    times = f"{predicted * 1e3:7.2f} ms {measured * 1e3:7.2f} ms"
    last = f"{memory:6.2f}" if memory else f"{'-':>6}"
    return f"{name_of(step):56} {times} {predicted / measured:6.2f} {last}"


def summary(size: str, apart: list[float]) -> str:
    mean = math.exp(statistics.fmean(map(math.log, apart)))
    within = sum(one <= BARS[size] for one in apart)
    return (
        f"{size}: {len(apart)} steps, {within} within {BARS[size]:.2f}; apart "
        f"{statistics.median(apart):.2f} times in the median, {mean:.2f} in the "
        f"geometric mean, {max(apart):.2f} at most"
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", default="h200:1")
    parser.add_argument("--platform", default="cuda")
    parser.add_argument("--steps", type=int, default=32, help="that are counted")
    parser.add_argument(
        "--calibrated", action="store_true", help="at rates measured by profile"
    )
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps_of", nargs="*", metavar="STEP")
    parser.add_argument("--published", action="store_true", help="these of the zoo")
    add_options(parser)
    options = parser.parse_args()
    steps = options.steps_of + (PUBLISHED if options.published else [])
    if not steps:
        parser.error("name modules or steps of the zoo, or --published")
    print(describe("jax"))
    print(HEADER)
    apart = {"small": [], "large": []}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            found = measure(step, options.modules or Path(folder), options)
            if found is None:
                failed += 1
                continue
            predicted, measured, _ = found
            size = "large" if measured >= LARGE_SECONDS else "small"
            apart[size].append(max(predicted / measured, measured / predicted))
            print(row(step, *found), flush=True)
    missed = failed > 0
    for size, times in apart.items():
        if times:
            print(summary(size, times))
            missed |= max(times) > BARS[size]
    print("missed" if missed else "kept")
    sys.exit(missed)


if __name__ == "__main__":
    main()
