"""train_with_plan.py PLAN: the zoo's tiny gpt with a plan's shardings, on 8 devices.

Prints {"losses": of jax.jit with the plan's shardings, "alone": without any,
"shards": how many different parts the batch lies in}.
"""

import json
import os
import sys

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from meshwright.zoo import build

import meshwright

STEPS = 3


def train(run, step):
    state, losses = step.init_state(), []
    for seed in range(STEPS):
        state, loss = run(state, step.example_batch(seed=seed))
        losses.append(float(loss))
    return losses


def main():
    plan = meshwright.load_plan(sys.argv[1])
    step = build("gpt", "tiny")
    batch = step.example_batch(seed=0)
    split = plan.shardings(step.fn, step.init_state(), batch)
    planned = jax.jit(
        step.fn, in_shardings=split.arguments, out_shardings=split.results
    )
    tokens = jax.device_put(batch["tokens"], split.parameters["batch/tokens"])
    report = {
        "losses": train(planned, step),
        "alone": train(jax.jit(step.fn), step),
        "shards": len({str(shard.index) for shard in tokens.addressable_shards}),
    }
    print(json.dumps(report))


main()
