"""Predicted against measured steps of modules on one device.

    ./mw bench step_predictions testdata/*_tiny.hlo.pb.zst --cluster h200:1
    ./mw bench step_predictions build/development_set/*.hlo.pb --cluster h200:1

Each module is planned for the cluster, one device of it, at assumed rates (or --calibrated), and run with the plan on
this machine's devices. Prints both times, their ratio, and the same of peak memory where
the device tells it. Bars: within 25 % for small steps, 10 % for those of 10 ms and more.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BARS = {"small": 1.25, "large": 1.10}
LARGE_SECONDS = 1e-2
WARMUP = 8


def tool(binary: Path, *words) -> dict | None:
    argv = [binary, *map(str, words), "--json"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"{words[1]}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def measure(
    module: Path, options, recompute="none", micro_batches=1
) -> tuple[float, float, float | None] | None:
    """Predicted and measured seconds, and predicted / measured peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        words = ["--cluster", options.cluster, "--stages", 1]
        if not options.calibrated:
            words.append("--assumed")
        words += ["--micro-batches", micro_batches, "--recompute", recompute]
        words += ["-o", plan]
        planned = tool(options.binary, "plan", module, *words)
        if planned is None:
            return None
        words = ["--plan", plan, "--platform", options.platform]
        ran = tool(options.binary, "run", module, *words, "--steps", options.steps)
    if ran is None:
        return None
    measured = statistics.median(ran["step_seconds"][WARMUP:])
    peaks = ran.get("predicted_peak_bytes"), ran.get("measured_peak_bytes")
    memory = peaks[0] / peaks[1] if all(peaks) else None
    return planned["predicted"]["step_seconds"], measured, memory


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", default="h200:1")
    parser.add_argument("--platform", default="cuda")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument(
        "--calibrated",
        action="store_true",
        help="at rates that `profile --calibrate` measured",
    )
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", type=Path)
    add_options(parser)
    options = parser.parse_args()
    print(f"{'step':32} {'predicted':>10} {'measured':>10} {'ratio':>6} {'memory':>6}")
    apart = {"small": [], "large": []}
    for module in options.modules:
        found = measure(module, options)
        if found is None:
            continue
        predicted, measured, memory = found
        ratio = predicted / measured
        size = "large" if measured >= LARGE_SECONDS else "small"
        apart[size].append(max(ratio, 1 / ratio))
        print(
            f"{module.name.split('.hlo')[0]:32} {predicted * 1e3:7.2f} ms "
            f"{measured * 1e3:7.2f} ms {ratio:6.2f} "
            + (f"{memory:6.2f}" if memory else "     -"),
            flush=True,
        )
    missed = False
    for size, times in apart.items():
        if not times:
            continue
        within = sum(one <= BARS[size] for one in times)
        missed |= within < len(times)
        mean = math.exp(statistics.fmean(map(math.log, times)))
        print(
            f"{size}: {len(times)} steps, {mean:.2f} times apart in the mean, "
            f"{within} within {BARS[size]:.2f}"
        )
    print("missed" if missed else "kept")
    sys.exit(missed)


if __name__ == "__main__":
    main()
