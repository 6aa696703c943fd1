"""What a coordinator and a worker process add to a step.

    ./mw bench worker_overhead

A GPT step of 50 ms and more on one device, by the engine alone and under a coordinator
with one worker, in turn: median of the pairs' ratios. Bar: 1.02. And a step that takes
next to nothing: seconds per step that a worker adds when it runs many per command, and
when it is told of each. Bar: 300 us per step.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
RATIO_BAR, DISPATCH_BAR = 1.02, 300e-6
SHAPE = {"layers": 2, "width": 256, "heads": 4, "vocab": 2048, "seq": 128, "batch": 24}


class Server:
    """A step server; its wall time per step, as its user sees it."""

    def __init__(self, options, module: Path, workers: int):
        words = [options.server, module]
        words += ["--workers", workers, "--program", options.meshwright][: 4 * workers]
        self._process = subprocess.Popen(
            list(map(str, words)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout.readline() != "ready\n":
            sys.exit("step_server did not start")

    def wall(self, count: int) -> float:
        begin = time.perf_counter()
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        json.loads(self._process.stdout.readline())
        return (time.perf_counter() - begin) / count

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def lowered(folder: Path) -> Path:
    from meshwright.zoo import gpt
    from meshwright.zoo.train_step import Step

    path = folder / "gpt.hlo.pb"
    Step(gpt, gpt.Config(**SHAPE)).lower().save(path)
    return path


def ratio_of(options, folder: Path) -> float:
    alone, under = (Server(options, lowered(folder), workers) for workers in (0, 1))
    for server in (alone, under):
        server.wall(5)
    pairs = [(alone.wall(1), under.wall(1)) for _ in range(options.steps)]
    for server in (alone, under):
        server.close()
    low, ratio, high = statistics.quantiles((b / a for a, b in pairs), n=4)
    step = statistics.median(a for a, _ in pairs)
    print(f"step of {step * 1e3:.1f} ms: {ratio:.3f} x ({low:.3f} to {high:.3f})")
    return ratio


def dispatch_of(options) -> float:
    module = ROOT / "tests/e2e/small_step.hlo"
    alone, under = (Server(options, module, workers) for workers in (0, 1))
    added = {}
    for count in (1, 200):
        for server in (alone, under):
            server.wall(50)
        rounds = [under.wall(count) - alone.wall(count) for _ in range(50)]
        added[count] = statistics.median(rounds)
        print(f"{count:3} steps a command: {added[count] * 1e6:.0f} us added per step")
    for server in (alone, under):
        server.close()
    return max(added.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=240)
    build = ROOT / "build/release"
    parser.add_argument("--server", default=build / "bench/step_server")
    parser.add_argument("--meshwright", default=build / "meshwright/cli/meshwright")
    options = parser.parse_args()
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        ratio = ratio_of(options, Path(folder))
    dispatch = dispatch_of(options)
    return 0 if ratio <= RATIO_BAR and dispatch <= DISPATCH_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
