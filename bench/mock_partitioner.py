"""Step time and memory of one of several mock GPUs, ours against XLA's SPMD partitioner.

    ./mw bench mock_partitioner                       # every model and strategy, 8 GPUs
    ./mw bench mock_partitioner gpt:dp moe --devices 64

One GPU, of eight or more that XLA believes in: programs are compiled for all and run on the
one, collectives bring garbage at once, so that computing, copies and gaps are compared. Ours
is what `meshwright partition` makes of the plan of a strategy, one stage, no recomputation,
the whole batch at once; the other side `jax.jit` of the same step with the plan's
shardings. Four steps each, in turn. Prints medians, the median of each pair's ratio,
temporary memory, what was predicted of ours, and how many collectives were started.
Bars: 1.00 in the geometric mean, 1.05 at worst; memory 1.00.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import _mock_sides as mock
from _mock_sides import Jitted, Partitioned

ROOT = Path(__file__).resolve().parents[1]
BARS = 1.0, 1.05
STRATEGIES = ["dp", "zero3", "megatron", "auto"]
# Published widths, fewer layers; examples are those of 8 devices.
MODELS = {
    "gpt": ("gpt", "1.3b", {"layers": 6, "batch": 32}),
    "llama": ("llama", "7b", {"layers": 4, "seq": 2048, "batch": 16}),
    "moe": ("moe", "380m", {"layers": 4, "batch": 32}),
    # A vocabulary that jax can split.
    "bert": ("bert", "large", {"layers": 8, "batch": 64, "vocab": 30528}),
}


def build(model: str, devices: int, changes: list[str]):
    from meshwright import zoo

    name, size, settings = MODELS[model]
    settings = settings | {n: int(v) for n, v in (c.split("=") for c in changes)}
    settings["batch"] = settings["batch"] * devices // 8
    return zoo.build(name, size, **settings)


def both(step, strategy: str, devices: int, options):
    """The plan, our side and the other."""
    import jax

    import meshwright

    with tempfile.TemporaryDirectory() as name:
        module, plan, split = (Path(name) / n for n in ("m.hlo.pb", "p.json", "s.pb"))
        step.lower(mock.platform()).save(module)
        hosts = f"{max(1, devices // 8)}x{min(8, devices)}"
        command = [options.binary, "plan", module, "--cluster", f"h200:{hosts}"]
        command += ["--strategy", strategy, "--assumed", "--stages", "1"]
        command += ["--micro-batches", "1", "--recompute", "none", "-o", plan]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        command = [options.binary, "partition", module, "--plan", plan, "-o", split]
        command += ["--platform", mock.platform()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        loaded = meshwright.load_plan(plan)
        program = split.read_bytes()
    states = len(jax.tree_util.tree_leaves(step.state_shapes))
    asked = dict(one.split("=") for one in options.ask)
    ours = Partitioned(program, states, asked)
    shapes = step.state_shapes, step.batch_shapes
    split = loaded.shardings(step.fn, *shapes)
    return loaded, ours, Jitted(step.fn, shapes, split.arguments, split.results)


def starts(text: str) -> int:
    """Collectives that the program starts, asynchronous ones once."""
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    kinds += ("collective-permute",)
    return sum(
        text.count(f" {kind}(") + text.count(f" {kind}-start(") for kind in kinds
    ) + text.count(" async-start(")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="MODEL or MODEL:STRATEGY")
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--dump", type=Path, help="optimised programs go there")
    parser.add_argument("--set", action="append", default=[], help="NAME=NUMBER")
    parser.add_argument(
        "--ask", action="append", default=[], help="XLA_FLAG=VALUE, for our side"
    )
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)
    options = parser.parse_args()
    mock.believe_in(options.devices)
    import jax

    print(mock.described())
    chosen = [case.partition(":") for case in options.cases or MODELS]
    print(
        f"{'step':16} {'ours ms':>8} {'XLA ms':>8} {'by pair':>7} {'predicted':>9} "
        f"{'temp GiB':>15} {'memory':>6} {'collectives':>11}"
    )
    ratios, memories = [], []
    for model, _, only in chosen:
        step = build(model, options.devices, options.set)
        for strategy in [only] if only else STRATEGIES:
            plan, ours, peer = both(step, strategy, options.devices, options)
            if options.dump:
                sides = {"ours": ours, "xla": peer}
                mock.dump(options.dump, f"{model}_{strategy}", sides)
            try:
                turns = mock.pairs(ours, peer, options.steps, options.warmup)
            except jax.errors.JaxRuntimeError as error:  # The other side's memory.
                print(f"{model + ':' + strategy:16} {str(error)[:100]}", flush=True)
                continue
            ratios.append(statistics.median(a / b for a, b in turns))
            temp = ours.temp_bytes(), peer.temp_bytes()
            memories.append(temp[0] / temp[1])
            medians = [statistics.median(one) * 1e3 for one in zip(*turns, strict=True)]
            print(
                f"{model + ':' + strategy:16} {medians[0]:8.2f} {medians[1]:8.2f} "
                f"{ratios[-1]:7.3f} {plan.predicted.compute_seconds * 1e3:9.2f} "
                f"{temp[0] / 2**30:7.2f} {temp[1] / 2**30:7.2f} {memories[-1]:6.2f} "
                f"{starts(ours.text()):5} {starts(peer.text()):5}",
                flush=True,
            )
            del ours, peer  # Their memory, before the next are made.
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    memory = math.exp(statistics.fmean(map(math.log, memories)))
    print(f"time {mean:.3f} in the geometric mean, {max(ratios):.3f} at worst")
    print(f"memory {memory:.3f} in the geometric mean, {max(memories):.3f} at worst")
    missed = mean > BARS[0] or max(ratios) > BARS[1] or memory > 1
    print(f"bars {BARS[0]}, {BARS[1]}, memory 1.0: {'missed' if missed else 'kept'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
