"""Steps on several processes of this machine, ours against torch's.

    ./mw bench distributed_step                 # both, on all cores
    ./mw bench distributed_step ddp --steps 20
    ./mw bench distributed_step ddp --devices 8 --strategy megatron --mesh data=2,model=8

`ddp`: data parallel on 2 processes against DistributedDataParallel over gloo.
`pipeline`: 4 stages on 4 processes, 8 micro-batches, 1F1B, against
torch.distributed.pipelining over gloo. The same GPT shape, optimizer and cores;
every process has its own share of the cores. Stepped in turn, medians of the
pairs' ratios; torch's seconds over ours is the throughput ratio. Bar: 1.0.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.0
SHAPES = {
    "ddp": {"layers": 4, "width": 512, "heads": 8, "vocab": 8192, "seq": 256}
    | {"batch": 16},
    "pipeline": {"layers": 8, "width": 512, "heads": 8, "vocab": 4096, "seq": 256}
    | {"batch": 32},
}
RANKS = {"ddp": 2, "pipeline": 4}
MICRO_BATCHES = 8


def lowered(shape: dict, folder: Path) -> Path:
    from meshwright.zoo import gpt
    from meshwright.zoo.train_step import Step

    path = folder / "gpt.hlo.pb"
    Step(gpt, gpt.Config(**shape)).lower().save(path)
    return path


class Ours:
    """The step server with workers."""

    def __init__(self, kind: str, options, folder: Path):
        ranks, module = RANKS[kind], lowered(SHAPES[kind], folder)
        plan = folder / "plan.json"
        devices = ranks * options.devices
        flags = ["--cluster", f"cpu:{devices}", "--assumed", "-o", plan]
        strategy = options.strategy or ("dp" if kind == "ddp" else "auto")
        flags += ["--strategy", strategy]
        flags += ["--mesh", options.mesh] if options.mesh else []
        if kind == "pipeline":
            flags += ["--stages", ranks, "--micro-batches", MICRO_BATCHES]
            flags += ["--schedule", "1f1b"]
        self._run(options.meshwright, "plan", module, *flags)
        self._process = subprocess.Popen(
            [options.server, module, "--plan", plan, "--workers", str(ranks)]
            + ["--program", options.meshwright],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout.readline() != "ready\n":
            sys.exit("step_server did not start")

    @staticmethod
    def _run(*words):
        subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)

    def steps(self, count: int) -> list[float]:
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return [pair[0] for pair in json.loads(self._process.stdout.readline())]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Torch:
    """The ranks of _torch_gpt.py, each on its share of the cores."""

    def __init__(self, kind: str, options, _folder: Path):
        ranks, cores = RANKS[kind], sorted(os.sched_getaffinity(0))
        each = max(1, len(cores) // ranks)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._processes = []
        for rank in range(ranks):
            own = cores[rank * each : (rank + 1) * each] or cores
            words = [options.python, ROOT / "bench/_torch_gpt.py", kind]
            words += ["--rank", rank, "--ranks", ranks, "--port", port]
            words += ["--threads", each, "--micro-batches", MICRO_BATCHES]
            words += ["--shape", json.dumps(SHAPES[kind])]
            self._processes.append(
                subprocess.Popen(
                    ["taskset", "-c", ",".join(map(str, own)), *map(str, words)],
                    stdin=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    text=True,
                )
            )
        if self._processes[0].stdout.readline() != "ready\n":
            sys.exit("torch did not start")

    def steps(self, count: int) -> list[float]:
        first = self._processes[0]
        first.stdin.write(f"{count}\n")
        first.stdin.flush()
        return json.loads(first.stdout.readline())

    def close(self):
        self._processes[0].stdin.close()
        for process in self._processes:
            process.wait()


def compare(kind: str, options) -> float:
    with tempfile.TemporaryDirectory() as folder:
        ours, torch = (side(kind, options, Path(folder)) for side in (Ours, Torch))
        for side in (ours, torch):
            side.steps(options.warmup)
        pairs = []
        for _ in range(options.steps):
            pairs += zip(ours.steps(1), torch.steps(1), strict=True)
        for side in (ours, torch):
            side.close()
    low, ratio, high = statistics.quantiles((b / a for a, b in pairs), n=4)
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    print(
        f"{kind:9} ours {medians[0] * 1e3:7.1f} ms  torch {medians[1] * 1e3:7.1f} ms  "
        f"throughput {ratio:.2f} x torch's ({low:.2f} to {high:.2f})",
        flush=True,
    )
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=["ddp", "pipeline"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--devices", type=int, default=1, help="of each process")
    parser.add_argument("--strategy", help="dp for ddp, auto for pipeline")
    parser.add_argument("--mesh", help="of all devices, or of those of a stage")
    parser.add_argument("--python", default=sys.executable, help="one with torch")
    build = ROOT / "build/release"
    parser.add_argument("--server", default=build / "bench/step_server")
    parser.add_argument("--meshwright", default=build / "meshwright/cli/meshwright")
    options = parser.parse_args()
    print(describe("torch"), flush=True)
    ratios = [compare(kind, options) for kind in options.kinds]
    return 0 if min(ratios) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
