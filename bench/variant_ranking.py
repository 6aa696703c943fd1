"""Are variants of a model ranked as they run? Predicted against measured steps on one device.

    ./mw bench variant_ranking "gpt 117m --layers 4"

The step, as `python -m meshwright.zoo lower` takes it, with several batches and sequences, each
with every kind of recomputation and 1, 2 and 4 micro-batches, is planned for one device and run on
this machine. Prints both times of each, and the rank correlation (Spearman's) of all. Bar: 0.95.
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

from step_predictions import HEADER, add_options, measure, row

BAR = 0.95
RECOMPUTE = ("none", "selective", "full")
MICRO_BATCHES = (1, 2, 4)


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
    parser.add_argument("step", metavar="STEP")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--sequences", type=int, nargs="+", default=[256, 1024])
    add_options(parser)
    options = parser.parse_args()
    times = []
    print(HEADER)
    variants = itertools.product(
        options.batches, options.sequences, RECOMPUTE, MICRO_BATCHES
    )
    with tempfile.TemporaryDirectory() as folder:
        for batch, sequence, kind, count in variants:
            step = f"{options.step} --batch {batch} --seq {sequence}"
            modules = options.modules or Path(folder)
            found = measure(step, modules, options, kind, count)
            if found is None:
                continue
            predicted, measured, _ = found
            times.append((predicted, measured))
            print(row(f"{step}, {kind}, {count}", *found), flush=True)
    if len(times) < 2:
        sys.exit("fewer than two variants ran")
    correlation = rank_correlation(*map(list, zip(*times, strict=True)))
    print(f"{len(times)} variants, rank correlation {correlation:.3f} (bar {BAR})")
    sys.exit(correlation < BAR)


if __name__ == "__main__":
    main()
