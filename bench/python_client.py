"""What the Python client adds to a step, and how long until the first one.

    ./mw bench python_client
    JAX_PLATFORMS=cpu ./mw bench python_client --calls-on gpu   # overhead alone, local GPUs

Overhead: `state, loss = step(state, batch)` with a State and a batch of this process, next
to the engine that runs many steps in one call, on one device, in turn: what a step takes
beyond the seconds that the devices were at it. Bar: 1 ms. First step: from `parallelize` to the first loss on 8 virtual
devices, next to the first call of `jax.jit` of the same step on one, each in a process
of its own, models of the zoo in their tiny sizes: ratio by model, and in the median.
Bar: 2.0. Arrays: a state of 1 GiB (`--state-bytes`) given to a step on one device and
fetched again, next to copying as much from memory to memory, in turn.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

from _machine import describe

OVERHEAD_BAR, FIRST_BAR = 1e-3, 2.0
MODELS = ("gpt", "llama", "moe", "bert", "vit", "wide-resnet", "unet")
SHAPE = {"layers": 2, "width": 128, "heads": 4, "vocab": 1024, "seq": 64, "batch": 8}


def overhead(rounds: int, cluster: str | None = "cpu:1") -> float:
    from meshwright.zoo import gpt
    from meshwright.zoo.train_step import Step

    import meshwright

    model = Step(gpt, gpt.Config(**SHAPE))
    batch = model.example_batch()
    outside = {1: [], 8: []}  # Of the devices' own seconds, for each step.
    with meshwright.parallelize(model.fn, cluster=cluster) as step:
        state = step.put(model.init_state())
        state, _ = step.many(8, state, batch)
        for _ in range(rounds):
            for count in (8, 1, 1, 1):
                begin = time.perf_counter()
                state, _ = step.many(count, state, batch)
                seconds = time.perf_counter() - begin
                outside[count].append((seconds - step.seconds) / count)
    engine = statistics.median(outside[8])
    added = [seconds - engine for seconds in outside[1]]
    low, median, high = statistics.quantiles(added, n=4)
    print(
        f"a call of the client adds {median * 1e3:.2f} ms to a step "
        f"({low * 1e3:.2f} to {high * 1e3:.2f})"
    )
    return median


def arrays(size: int, rounds: int) -> None:
    """Seconds to hand over a state of so many bytes, and to fetch it."""
    import numpy as np

    import meshwright

    parts = 16
    state = {
        f"part_{i}": np.full((size // parts // 4096, 1024), i, np.float32)
        for i in range(parts)
    }
    seconds = {"memcpy": [], "put": [], "fetch": []}

    def timed(what: str, function):
        begin = time.perf_counter()
        result = function()
        seconds[what].append(time.perf_counter() - begin)
        return result

    def copied():
        return {name: np.array(array) for name, array in state.items()}

    def scaled(state, factor):
        return state, factor * state["part_1"][0, 0]

    with meshwright.parallelize(scaled, cluster="cpu:1") as step:
        current, _ = step(step.put(state), 1.0)
        for _ in range(rounds):
            timed("memcpy", copied)
            given = step.put(state)
            # What is not of the arrays, a step takes without them, too.
            current, _ = timed("put", lambda given=given: step(given, 1.0))
            timed("fetch", current.fetch)
    copy = statistics.median(seconds["memcpy"])
    for what in ("put", "fetch"):
        median = statistics.median(seconds[what])
        print(
            f"{what} of {size / 2**30:.2g} GiB: {median:.2f} s, {median / copy:.2f} x "
            f"copying it ({copy:.2f} s)"
        )


def first_step(kind: str, model: str) -> float:
    """Seconds, in this process."""
    import jax
    from meshwright.zoo import build

    step = build(model)
    state, batch = step.init_state(), step.example_batch()
    jax.block_until_ready(state)
    if kind == "jit":
        begin = time.perf_counter()
        _, loss = jax.jit(step.fn)(state, batch)
        float(loss)
        return time.perf_counter() - begin
    import meshwright

    begin = time.perf_counter()
    parallel = meshwright.parallelize(step.fn, cluster="cpu:8", cache=False)
    _, loss = parallel(parallel.put(state), batch)
    float(loss)
    seconds = time.perf_counter() - begin
    parallel.close()
    return seconds


def measured(kind: str, model: str) -> float:
    words = [sys.executable, __file__, "--first", kind, model]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--state-bytes", type=int, default=1 << 30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--first", nargs=2, metavar=("KIND", "MODEL"))
    parser.add_argument("--calls-on", metavar="CLUSTER")
    options = parser.parse_args()
    if options.first:
        print(json.dumps(first_step(*options.first)))
        return 0
    print(describe())
    if options.calls_on:
        gpus = None if options.calls_on == "gpu" else options.calls_on
        return 0 if overhead(options.rounds, gpus) <= OVERHEAD_BAR else 1
    added = overhead(options.rounds)
    arrays(options.state_bytes, rounds=5)
    ratios = []
    for model in MODELS:
        pairs = [
            (measured("jit", model), measured("client", model))
            for _ in range(options.repeats)
        ]
        ratio = statistics.median(b / a for a, b in pairs)
        jit, client = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{model:12} jit {jit:5.2f} s, client {client:5.2f} s: {ratio:.2f} x")
        ratios.append(ratio)
    median, worst = statistics.median(ratios), max(ratios)
    print(f"first step: {median:.2f} x jit in the median, {worst:.2f} x at worst")
    return 0 if added <= OVERHEAD_BAR and worst <= FIRST_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
