"""Step time on 8 virtual CPU devices, ours against jax with the same shardings.

    ./mw bench sharded_step_time                  # every tiny model, every plan
    ./mw bench sharded_step_time gpt moe:expert --steps 60

Both sides keep their state on the devices, start from the same values and are stepped
in turn, one step each, in the same run; jax's arrays have the same NamedShardings.
Prints medians, their ratio, and the median and quartiles of each pair's ratio.
Bars: geometric mean of the latter at most 1.0, none above 1.1.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

from _machine import describe
from _peers import Jax, Ours
from _sharded_step import Case, cases, use_virtual_devices

ROOT = Path(__file__).resolve().parents[1]
MEAN_BAR, WORST_BAR = 1.0, 1.1


def start(case: Case, options, folder: Path) -> tuple[Ours, Jax]:
    import jax
    from meshwright.tensors import save_tensors

    state, batch = case.step.init_state(), case.step.example_batch()
    module, sharding = case.save(folder)
    inputs = [folder / "state.safetensors", folder / "batch.safetensors"]
    save_tensors(inputs[0], state=state)
    save_tensors(inputs[1], batch=batch)
    ours = Ours(
        options.server,
        module,
        inputs=inputs,
        sharding=sharding,
        options=options.option,
    )
    placed = [
        jax.device_put(tree, case.shardings[name])
        for name, tree in (("state", state), ("batch", batch))
    ]
    return ours, Jax(case.jitted(), *placed)


def compare(case: Case, options) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        ours, jax = start(case, options, Path(folder))
        count = options.warmup + options.steps
        pairs = [(ours.step(), jax.step()) for _ in range(count)]
        ours.close()
    timed = [(a, b) for (a, _), (b, _) in pairs[options.warmup :]]
    ratios = statistics.quantiles((a / b for a, b in timed), n=4)
    our_median = statistics.median(a for a, _ in timed)
    jax_median = statistics.median(b for _, b in timed)
    return {
        "case": case.name,
        "ours_ms": our_median * 1e3,
        "jax_ms": jax_median * 1e3,
        "ratio": our_median / jax_median,
        "pair_ratio": ratios[1],
        "pair_quartiles": [ratios[0], ratios[2]],
        "losses": [[a, b] for (_, a), (_, b) in pairs],
    }


def _print_row(row: dict) -> None:
    low, high = row["pair_quartiles"]
    first, last = row["losses"][0], row["losses"][-1]
    print(
        f"{row['case']:24} {row['ours_ms']:9.2f} {row['jax_ms']:9.2f} "
        f"{row['ratio']:6.3f} {row['pair_ratio']:7.3f}  {low:.2f}-{high:.2f}   "
        f"losses {first[0]:.5f} {first[1]:.5f} .. {last[0]:.5f} {last[1]:.5f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="MODEL or MODEL:PLAN")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--option", action="append", default=[], help="NAME=VALUE")
    parser.add_argument("--json", type=Path, help="write every number here")
    default = ROOT / "build/release/bench/step_server"
    parser.add_argument("--server", type=Path, default=default)
    options = parser.parse_args()
    use_virtual_devices()
    print(describe("jax", "jaxlib"))
    print(
        f"{'case':24} {'ours ms':>9} {'jax ms':>9} {'ratio':>6} {'by pair':>7}  quartiles"
    )
    rows = []
    for case in cases(options.cases):
        rows.append(compare(case, options))
        _print_row(rows[-1])
    if not rows:
        sys.exit("no such case")
    logs = [math.log(row["pair_ratio"]) for row in rows]
    mean = math.exp(statistics.mean(logs))
    print(f"geometric mean by pair {mean:.3f}")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "mean": mean}, indent=1))
    worst = max(row["pair_ratio"] for row in rows)
    missed = mean > MEAN_BAR or worst > WORST_BAR
    verdict = "missed" if missed else "kept"
    print(f"bars {MEAN_BAR} and {WORST_BAR} (largest {worst:.3f}): {verdict}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
