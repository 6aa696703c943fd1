"""Orbax and torch's distributed checkpoints on the layouts of bench/checkpoint.py.

    python bench/_checkpoint_peers.py orbax|torch FOLDER MIB

A state of f32[2048,2048] tensors, rows split over 8 devices (torch: processes), saved;
then restored with columns split. A line of JSON: seconds of both, the size of the files,
and what share of them was still in memory when the first restore began.
"""

import ctypes
import json
import mmap
import os
import shutil
import sys
import time
from pathlib import Path

DEVICES, SIZE = 8, 2048


def drop_cache(folder: Path) -> tuple[float, int]:
    """The share of its files that stays in memory nevertheless, and their size."""
    os.sync()  # What is not yet on the disk stays.
    cached = total = 0
    for path in folder.rglob("*"):
        if not path.is_file() or path.stat().st_size == 0:
            continue
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        cached += _cached_bytes(file, path.stat().st_size)
        total += path.stat().st_size
        os.close(file)
    return cached / max(total, 1), total


def _cached_bytes(file: int, size: int) -> int:
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    # A private mapping is one whose address ctypes takes; it reads nothing.
    with mmap.mmap(file, size, access=mmap.ACCESS_COPY) as memory:
        first = ctypes.c_char.from_buffer(memory)
        ctypes.CDLL(None).mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), pages
        )
        del first
    return sum(page & 1 for page in pages) * mmap.PAGESIZE


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
        files = drop_cache(folder)
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
    return _measured(save, times, files)


def _measured(save: float, times: list[float], files: tuple[float, int]) -> dict:
    restore, again = times
    cached, size = files
    return {
        "file_bytes": size,
        "save": save,
        "restore": restore,
        "restore_cached": again,
        "cached": cached,
    }


def torch(folder: Path, tensors: int):
    import socket

    import torch.multiprocessing as processes

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    queue = processes.get_context("spawn").SimpleQueue()
    arguments = (port, str(folder / "1"), tensors, queue)
    processes.spawn(_torch_rank, arguments, nprocs=DEVICES, join=True)
    return queue.get()


def _torch_rank(rank: int, port: int, folder: str, tensors: int, queue):
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    torch.set_num_threads(max(1, os.cpu_count() // DEVICES))
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=DEVICES
    )
    mesh = init_device_mesh("cpu", (DEVICES,))

    def split(dimension: int, make):
        size = [SIZE, SIZE]
        size[dimension] //= DEVICES
        return {
            f"w{i}": DTensor.from_local(make(*size), mesh, [Shard(dimension)])
            for i in range(tensors)
        }

    def timed(call) -> float:
        dist.barrier()
        begin = time.perf_counter()
        call()
        dist.barrier()
        return time.perf_counter() - begin

    state, target = split(0, torch.randn), split(1, torch.empty)
    save = timed(lambda: dcp.save(state, checkpoint_id=folder))
    files = drop_cache(Path(folder)) if rank == 0 else None
    times = [timed(lambda: dcp.load(target, checkpoint_id=folder)) for _ in range(2)]
    whole = state["w0"].full_tensor(), target["w0"].full_tensor()
    assert torch.equal(*whole)
    if rank == 0:
        queue.put(_measured(save, times, files))
    dist.barrier()
    dist.destroy_process_group()


def main():
    which, folder, mib = sys.argv[1], Path(sys.argv[2]).absolute(), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measured = {"orbax": orbax, "torch": torch}[which](folder, mib // 16)
    shutil.rmtree(folder)
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
