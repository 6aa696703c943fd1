"""Orbax and torch's distributed checkpoints on the layouts of bench/checkpoint.py.

    python bench/_checkpoint_peers.py orbax|torch FOLDER MIB

A state of f32[2048,2048] tensors, rows split over 8 devices (torch: processes' shards in
one process), saved; then restored with columns split. A line of JSON: seconds of both.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

DEVICES, SIZE = 8, 2048


def drop_cache(folder: Path):
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def orbax(folder: Path, tensors: int):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    import orbax.checkpoint as ocp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("a",))
    rows = NamedSharding(mesh, PartitionSpec("a", None))
    columns = NamedSharding(mesh, PartitionSpec(None, "a"))
    random = np.random.default_rng(0)
    whole = random.standard_normal((SIZE, SIZE), np.float32)
    state = {f"w{i}": jax.device_put(whole + i, rows) for i in range(tensors)}
    jax.block_until_ready(state)
    with ocp.StandardCheckpointer() as checkpointer:
        begin = time.perf_counter()
        checkpointer.save(folder / "1", state)
        checkpointer.wait_until_finished()
        save = time.perf_counter() - begin
        drop_cache(folder)
        shape = jax.ShapeDtypeStruct((SIZE, SIZE), np.float32, sharding=columns)
        target = {name: shape for name in state}
        times = []
        for _ in range(2):
            begin = time.perf_counter()
            restored = checkpointer.restore(folder / "1", target)
            jax.block_until_ready(restored)
            times.append(time.perf_counter() - begin)
            np.testing.assert_array_equal(restored["w1"], whole + 1)
            del restored
    return {"save": save, "restore": times[0], "restore_cached": times[1]}


def torch(folder: Path, tensors: int):
    import torch
    import torch.distributed.checkpoint as dcp

    def shards(make, rows, columns):
        return {
            f"w{i}/{k}": make(rows, columns)
            for i in range(tensors)
            for k in range(DEVICES)
        }

    # One process: DCP is given the shards, and what is restored has the same.
    state = shards(lambda *size: torch.randn(*size), SIZE // DEVICES, SIZE)
    begin = time.perf_counter()
    dcp.save(state, checkpoint_id=folder / "1", no_dist=True)
    save = time.perf_counter() - begin
    drop_cache(folder)
    target = shards(lambda *size: torch.empty(*size), SIZE // DEVICES, SIZE)
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        dcp.load(target, checkpoint_id=folder / "1", no_dist=True)
        times.append(time.perf_counter() - begin)
    return {"save": save, "restore": times[0], "restore_cached": times[1]}


def main():
    which, folder, mib = sys.argv[1], Path(sys.argv[2]).absolute(), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measured = {"orbax": orbax, "torch": torch}[which](folder, mib // 16)
    shutil.rmtree(folder)
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
