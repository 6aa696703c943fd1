"""What it costs to hand a state to a coordinator's workers, and to fetch it back.

    ./mw bench client_copies

A state of 1 GiB (`--state-bytes`), to a coordinator with two workers of one device each,
all on this machine: a step that takes it (`put`), and `fetch`. Seconds of the processor
and the growth of the peak memory, of the script, the coordinator and the workers
together, next to one copy of as much from memory to memory, in turn; once with every
array split between the workers (by rows, and by columns), once with a copy on each.
Half of what is measured is the kernel's: loopback copies every byte twice.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from _machine import describe

PARTS = 8
TICKS = os.sysconf("SC_CLK_TCK")
LAYOUTS = {"rows": "[data, -]", "columns": "[-, data]", "copies": "[-, -]"}


class Process:
    """Seconds of the processor, and peak memory, of one."""

    def __init__(self, pid: int):
        self._folder = Path(f"/proc/{pid}")

    def seconds(self) -> float:
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def forget_peak(self) -> None:
        with contextlib.suppress(OSError):
            (self._folder / "clear_refs").write_text("5")

    def memory(self, what: str) -> int:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) << 10
        return 0


class Measured:
    """`with measured("put"): ...`; by what, lists of figures by process."""

    def __init__(self, processes: dict[str, Process]):
        self._processes = processes
        self.seconds: dict[str, list[dict[str, float]]] = {}
        self.peaks: dict[str, list[dict[str, int]]] = {}
        self.wall: dict[str, list[float]] = {}

    @contextlib.contextmanager
    def __call__(self, what: str):
        before = {}
        for name, process in self._processes.items():
            process.forget_peak()
            before[name] = process.seconds(), process.memory("VmRSS")
        begin = time.perf_counter()
        yield
        self.wall.setdefault(what, []).append(time.perf_counter() - begin)
        seconds, peaks = {}, {}
        for name, process in self._processes.items():
            seconds[name] = process.seconds() - before[name][0]
            peaks[name] = max(0, process.memory("VmHWM") - before[name][1])
        self.seconds.setdefault(what, []).append(seconds)
        self.peaks.setdefault(what, []).append(peaks)


@contextlib.contextmanager
def coordinator():
    """Its address, and its processes by name."""
    program = os.environ["MESHWRIGHT_BIN"]
    with contextlib.ExitStack() as stack:

        def start(*words):
            child = subprocess.Popen(
                [program, *words], stdout=subprocess.PIPE, text=True
            )
            stack.callback(child.wait, 30)
            stack.callback(child.terminate)
            return child

        serve = start(
            "serve", "--listen", "127.0.0.1:0", "--cluster", "cpu:2", "--workers", "2"
        )
        address = serve.stdout.readline().split()[2].rstrip(";")
        join = ["worker", "--join", address, "--devices", "1", "--platform", "cpu"]
        workers = [start(*join), start(*join)]
        for line in serve.stdout:
            if "2 of 2 workers" in line:
                break
        found = {"script": os.getpid(), "coordinator": serve.pid}
        found |= {f"worker {i}": worker.pid for i, worker in enumerate(workers)}
        yield address, {name: Process(pid) for name, pid in found.items()}


def measure(layout: str, size: int, rounds: int) -> dict:
    import jax.numpy as jnp
    import numpy as np

    import meshwright

    rows = size // PARTS // 4096
    state = {f"part_{i}": np.full((rows, 1024), i, np.float32) for i in range(PARTS)}
    pins = {"parameters": {f"state/{name}": LAYOUTS[layout] for name in state}}

    def step_fn(state, scale):
        return state, scale * sum(jnp.sum(part[0, :4]) for part in state.values())

    with coordinator() as (address, processes):
        measured = Measured(processes)
        with meshwright.parallelize(
            step_fn, cluster=address, mesh={"data": 2}, pins=pins
        ) as step:
            current, _ = step(step.put(state), 1.0)
            for _ in range(rounds):
                with measured("memcpy"):
                    copied = {name: np.array(array) for name, array in state.items()}
                del copied
                current = None  # Or it would be fetched before it is replaced.
                given = step.put(state)
                with measured("put"):
                    current, _ = step(given, 1.0)
                with measured("fetch"):
                    fetched = current.fetch()
                assert all(np.array_equal(fetched[k], state[k]) for k in state)
                del fetched
    return figures(measured, size)


def figures(measured: Measured, size: int) -> dict:
    def total(what: str) -> float:
        return statistics.median(sum(one.values()) for one in measured.seconds[what])

    memcpy = total("memcpy")
    found = {"memcpy_seconds": memcpy}
    for what in ("put", "fetch"):
        seconds = {
            name: statistics.median(one[name] for one in measured.seconds[what])
            for name in measured.seconds[what][0]
        }
        peaks = {
            name: statistics.median(one[name] for one in measured.peaks[what]) / size
            for name in measured.peaks[what][0]
        }
        found[what] = {
            "copies": total(what) / memcpy,
            "wall_seconds": statistics.median(measured.wall[what]),
            "processor_seconds": seconds,
            "peak_memory": peaks,
        }
    return found


def tell(layout: str, found: dict) -> None:
    for what in ("put", "fetch"):
        one = found[what]
        seconds = ", ".join(f"{n} {s:.2f}" for n, s in one["processor_seconds"].items())
        peaks = ", ".join(f"{n} {s:.2f}" for n, s in one["peak_memory"].items())
        print(
            f"{layout:8} {what:5} {one['wall_seconds']:5.2f} s, processor "
            f"{one['copies']:5.1f} x one copy ({found['memcpy_seconds']:.2f} s): "
            f"{seconds}; peak memory in sizes of the state: {peaks}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state-bytes", type=int, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS), choices=LAYOUTS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    if not options.json:
        print(describe())
    for layout in options.layouts:
        found[layout] = measure(layout, options.state_bytes, options.rounds)
        if not options.json:
            tell(layout, found[layout])
    if options.json:
        print(json.dumps({"machine": describe(), "layouts": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
