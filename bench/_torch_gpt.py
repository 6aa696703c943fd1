"""torch's side of bench distributed_step: a rank of a GPT trained over gloo.

    python _torch_gpt.py ddp --rank 0 --ranks 2 --port 4000 --shape '{"layers": 4, ...}'

The shape is that of the zoo's GPT (learned positions, pre-norm, GELU, tied
embeddings, AdamW, f32). Rank 0 steps as often as lines on stdin say and prints the
seconds of each step; the others follow it. `ddp` is DistributedDataParallel,
`pipeline` torch.distributed.pipelining's 1F1B.
"""

import argparse
import json
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(hidden)


class Part(nn.Module):
    """Some of the layers; the first and last stages have what is around them."""

    def __init__(self, shape, first: int, last: int):
        super().__init__()
        width, vocab = shape["width"], shape["vocab"]
        self.is_first, self.is_last = first == 0, last == shape["layers"]
        if self.is_first or self.is_last:
            # Pipelines of torch cannot tie weights of two stages: each has its own.
            self.tokens = nn.Parameter(0.02 * torch.randn(vocab, width))
        if self.is_first:
            self.positions = nn.Parameter(0.02 * torch.randn(shape["seq"], width))
        self.blocks = nn.ModuleList(
            Block(width, shape["heads"]) for _ in range(first, last)
        )
        if self.is_last:
            self.norm = nn.LayerNorm(width)

    def forward(self, x):
        if self.is_first:
            x = F.embedding(x, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens) if self.is_last else x


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=3e-4, weight_decay=0.1)


def data_parallel(options, shape):
    model = nn.parallel.DistributedDataParallel(Part(shape, 0, shape["layers"]))
    optimizer = adamw(model.parameters())
    local = shape["batch"] // options.ranks

    def step():
        tokens = torch.randint(shape["vocab"], (local, shape["seq"]))
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        optimizer.step()

    return step


def pipeline(options, shape):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    each = shape["layers"] // options.ranks
    part = Part(shape, options.rank * each, (options.rank + 1) * each)
    stage = PipelineStage(part, options.rank, options.ranks, torch.device("cpu"))
    schedule = Schedule1F1B(stage, options.micro_batches, loss_fn=loss_of)
    optimizer = adamw(part.parameters())

    def step():
        tokens = torch.randint(shape["vocab"], (shape["batch"], shape["seq"]))
        optimizer.zero_grad(set_to_none=True)
        if options.rank == 0:
            schedule.step(tokens)
        elif options.rank == options.ranks - 1:
            schedule.step(target=tokens)
        else:
            schedule.step()
        optimizer.step()

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["ddp", "pipeline"])
    for name in ("rank", "ranks", "port", "threads", "micro-batches"):
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--shape", type=json.loads)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
    dist.init_process_group(
        "gloo",
        rank=options.rank,
        world_size=options.ranks,
        timeout=timedelta(minutes=5),
    )
    make = {"ddp": data_parallel, "pipeline": pipeline}[options.kind]
    step = make(options, options.shape)
    count = torch.zeros(1, dtype=torch.int64)
    if options.rank == 0:
        print("ready", flush=True)
    while True:
        if options.rank == 0:
            count[0] = int(sys.stdin.readline() or "0")
        dist.broadcast(count, 0)
        if not count.item():
            break
        seconds = []
        for _ in range(count.item()):
            dist.barrier()
            begin = time.perf_counter()
            step()
            dist.barrier()
            seconds.append(time.perf_counter() - begin)
        if options.rank == 0:
            print(json.dumps(seconds), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
