"""All-reduces between processes of this machine, ours against torch's gloo.

    ./mw bench all_reduce

1 KiB, 1 MiB and 64 MiB of f32 over 2 and 4 processes; sides in turn, medians of
rounds. Also what part of the machine's memory bandwidth the result moves at: each
process reads and writes its array once at least. Bar: no slower than torch's gloo.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
REPEATS = {1 << 10: 500, 1 << 20: 200, 64 << 20: 12}


def microseconds(commands: list[list], cores: int) -> float:
    """What rank 0 says; every rank has its share of the cores."""
    own = sorted(os.sched_getaffinity(0))[:cores]
    each = max(1, len(own) // len(commands))
    processes = []
    for rank, words in enumerate(commands):
        share = own[rank * each : (rank + 1) * each] or own
        processes.append(
            subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, share)), *map(str, words)],
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                text=True,
            )
        )
    said = processes[0].communicate()[0]
    if any(process.wait() for process in processes):
        sys.exit(f"{commands[0][0]} failed")
    return json.loads(said.splitlines()[-1])["microseconds"]


def ours(ranks: int, size: int, options) -> float:
    with tempfile.TemporaryDirectory() as store:
        words = [options.program, "--size", ranks, "--store", store]
        words += ["--bytes", size, "--repeat", REPEATS[size]]
        words += ["--tcp"] if options.tcp else []
        commands = [[*words, "--rank", rank] for rank in range(ranks)]
        return microseconds(commands, options.cores)


def torch(ranks: int, size: int, options) -> float:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [options.python, ROOT / "bench/_torch_all_reduce.py", "--ranks", ranks]
    words += ["--port", port, "--bytes", size, "--repeat", REPEATS[size]]
    words += ["--threads", max(1, options.cores // ranks)]
    commands = [[*words, "--rank", rank] for rank in range(ranks)]
    return microseconds(commands, options.cores)


def copy_bandwidth() -> float:
    """Bytes that one core reads and writes in a second when it copies."""
    source = bytearray(256 << 20)
    target = bytearray(len(source))
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - begin)
    return 2 * len(source) / best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tcp", action="store_true", help="no shared memory")
    parser.add_argument("--python", default=sys.executable, help="one with torch")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--program", default=ROOT / "build/release/bench/wire_bench")
    options = parser.parse_args()
    print(describe("torch"), flush=True)
    bandwidth = copy_bandwidth()
    print(f"a core copies at {bandwidth / 1e9:.1f} GB/s, read and written", flush=True)
    slowest = float("inf")
    for ranks in (2, 4):
        for name, size in SIZES.items():
            rounds = [
                (ours(ranks, size, options), torch(ranks, size, options))
                for _ in range(options.rounds)
            ]
            ratio = statistics.median(b / a for a, b in rounds)
            a, b = (statistics.median(side) for side in zip(*rounds, strict=True))
            part = 2 * size / (a * 1e-6) / bandwidth
            print(
                f"{ranks} processes  {name:6}  ours {a:9.1f} us  torch {b:9.1f} us  "
                f"{ratio:5.2f} x as fast  {part:.0%} of a copy's bandwidth",
                flush=True,
            )
            slowest = min(slowest, ratio)
    return 0 if slowest >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
