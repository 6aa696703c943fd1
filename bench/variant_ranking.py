"""Are variants of a model ranked as they run? Predicted against measured steps on one device.

    ./mw bench variant_ranking gpt 117m --layers 4 --cluster h200:1

The model with several batches and sequences, each with every kind of recomputation and 1, 2 and 4
micro-batches: planned for the cluster and run on this machine's device. Prints both times of each,
and the rank correlation (Spearman's) of all. Bar: 0.95.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

from step_predictions import add_options, measure

BAR = 0.95
RECOMPUTE = ("none", "selective", "full")
MICRO_BATCHES = (1, 2, 4)


def lower(path: Path, options, batch: int, sequence: int) -> None:
    words = ["lower", options.model, options.size, "--platform", options.platform]
    words += ["--batch", str(batch), "--seq", str(sequence), "-o", str(path)]
    if options.layers:
        words += ["--layers", str(options.layers)]
    subprocess.run([sys.executable, "-m", "meshwright.zoo", *words], check=True)


def ranks(values: list[float]) -> list[int]:
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's, of values that differ."""
    n = len(first)
    apart = sum((a - b) ** 2 for a, b in zip(ranks(first), ranks(second), strict=True))
    return 1 - 6 * apart / (n * (n * n - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("size")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--sequences", type=int, nargs="+", default=[256, 1024])
    add_options(parser)
    options = parser.parse_args()
    times = []
    print(
        f"{'batch':>5} {'seq':>5} {'recompute':>9} {'micro':>5} {'predicted':>10} "
        f"{'measured':>10} {'ratio':>6} {'memory':>6}"
    )
    for batch, sequence in itertools.product(options.batches, options.sequences):
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / f"{options.model}.hlo.pb"
            lower(module, options, batch, sequence)
            for kind, count in itertools.product(RECOMPUTE, MICRO_BATCHES):
                found = measure(module, options, kind, count)
                if found is None:
                    continue
                predicted, measured, memory = found
                times.append((predicted, measured))
                print(
                    f"{batch:5} {sequence:5} {kind:>9} {count:5} "
                    f"{predicted * 1e3:7.2f} ms {measured * 1e3:7.2f} ms "
                    f"{predicted / measured:6.2f} "
                    + (f"{memory:6.2f}" if memory else "     -"),
                    flush=True,
                )
    if len(times) < 2:
        sys.exit("fewer than two variants ran")
    correlation = rank_correlation(*map(list, zip(*times, strict=True)))
    print(f"{len(times)} variants, rank correlation {correlation:.3f} (bar {BAR})")
    sys.exit(correlation < BAR)


if __name__ == "__main__":
    main()
