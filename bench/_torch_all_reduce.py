"""torch's side of bench all_reduce: a rank that times all-reduces over gloo.

python _torch_all_reduce.py --rank 0 --ranks 2 --port 4000 --bytes 1048576 --repeat 50
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    for name in ("rank", "ranks", "port", "bytes", "repeat", "threads"):
        parser.add_argument(f"--{name}", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
    dist.init_process_group("gloo", rank=options.rank, world_size=options.ranks)
    data = torch.ones(options.bytes // 4)
    seconds = []
    for _ in range(options.repeat + 3):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(data)
        seconds.append(time.perf_counter() - begin)
        data.fill_(1)
    if options.rank == 0:
        median = statistics.median(seconds[3:])
        print(json.dumps({"microseconds": median * 1e6}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
