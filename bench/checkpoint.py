"""Saving a state of 1 GiB, and restoring it otherwise sharded, beside others.

    ./mw bench checkpoint [--folder DIR] [--rounds N]

64 tensors f32[2048,2048], rows split over 8 virtual devices of one process; restored with
columns split, once from the disk and once more (what was in memory of the files in spite
of being dropped is printed). Meshwright, Orbax and torch's distributed checkpoints (8
processes; each where its package is found) in turn on the same disk; medians. All flush
what they save. Bars: 1.5 times as fast as each, and at most 1.2 times a device's share of
the state (128 MiB) in memory beyond what there was. Each round also reads as much past the
cache, and writes as much and flushes it, as plainly as can be: what of that each takes is
printed, and how far ahead of each a restore could be that took no longer than the disk.
"""

import argparse
import importlib.util
import json
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _machine import describe

ROOT = Path(__file__).resolve().parents[1]
BAR, MEMORY_BAR, DEVICES = 1.5, 1.2, 8


def measured(words) -> dict:
    done = subprocess.run(
        list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def disk_seconds(folder: Path, mib: int) -> dict[str, float]:
    """To write as much and flush it, and to read it past the cache, with as many threads
    as devices."""
    path, part = folder / "plain", (mib << 20) // DEVICES

    def in_parts(flags: int, pass_on) -> float:
        def run(index: int) -> None:
            block = mmap.mmap(-1, 4 << 20)
            block.write(os.urandom(len(block)))
            file = os.open(path, flags)
            for offset in range(index * part, (index + 1) * part, len(block)):
                pass_on(file, [block], offset)
            os.fsync(file)
            os.close(file)

        begin = time.perf_counter()
        with ThreadPoolExecutor(DEVICES) as threads:
            list(threads.map(run, range(DEVICES)))
        return time.perf_counter() - begin

    path.touch()
    write = in_parts(os.O_WRONLY, os.pwritev)
    read = in_parts(os.O_RDONLY | os.O_DIRECT, os.preadv)
    path.unlink()
    return {"save": write, "restore": read}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--folder", help="on the disk to measure")
    probe = ROOT / "build/release/bench/checkpoint_probe"
    parser.add_argument("--probe", default=probe)
    options = parser.parse_args()
    print(describe())
    peers = {"orbax": "orbax", "torch": "torch"}
    peers = [name for name in peers if importlib.util.find_spec(peers[name])]
    runs = {"meshwright": [], **{name: [] for name in peers}}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        ours = [options.probe, Path(folder) / "ours", options.mib, 1]
        script = ROOT / "bench/_checkpoint_peers.py"
        disk = []
        for _ in range(options.rounds):
            disk.append(disk_seconds(Path(folder), options.mib))
            runs["meshwright"].append(measured(ours))
            for name in peers:
                theirs = [sys.executable, script, name, Path(folder) / name]
                runs[name].append(measured([*theirs, options.mib]))
    ok = True
    medians = {
        name: {key: statistics.median(run[key] for run in many) for key in many[0]}
        for name, many in runs.items()
    }
    for name, times in medians.items():
        words = (
            f"{key} {times[key]:.2f} s"
            for key in times
            if "bytes" not in key and key != "cached"
        )
        cached = f"{times['cached']:.0%} of its files in memory before"
        if "file_bytes" in times:
            cached += f", which have {times['file_bytes'] / (options.mib << 20):.2f} x"
            cached += " the bytes of the state"
        print(f"{name:10} {', '.join(words)}; {cached}")
    plain = {key: statistics.median(one[key] for one in disk) for key in disk[0]}
    for key, verb in (("save", "writes and flushes"), ("restore", "reads")):
        rate = (options.mib << 20) / plain[key] / 1e9
        took = (f"{name} {t[key] / plain[key]:.2f}" for name, t in medians.items())
        print(
            f"the disk {verb} as much in {plain[key]:.2f} s ({rate:.1f} GB/s); times "
            f"that: {', '.join(took)}"
        )
    for name in peers:
        most = medians[name]["restore"] / plain["restore"]
        print(f"restore: at the disk's speed it would be {most:.2f} x that of {name}")
    for name in peers:
        for key in ("save", "restore", "restore_cached"):
            ratio = medians[name][key] / medians["meshwright"][key]
            print(f"{key}: {ratio:.2f} x the speed of {name}")
            ok &= ratio >= BAR
    share = (options.mib << 20) / DEVICES
    for key in ("save_bytes", "restore_bytes"):
        extra = max(run[key] for run in runs["meshwright"]) / share
        print(f"{key}: {extra:.2f} of a device's share")
        ok &= extra <= MEMORY_BAR
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
