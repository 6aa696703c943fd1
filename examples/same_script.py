"""The same script on one device, on eight virtual ones, and on two machines.

    python examples/same_script.py --cluster cpu:1
    python examples/same_script.py --cluster cpu:8

On two machines, with a token that both have (docs/serving.md tells of certificates):

    host-0$ meshwright serve --listen host-0:7777 --cluster h200:2x8 --workers 2 ...
    host-0$ meshwright worker --join host-0:7777
    host-1$ meshwright worker --join host-0:7777
    anywhere$ python examples/same_script.py --cluster host-0:7777

All print the same losses.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--cluster", default="cpu:8")
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
optimizer = optax.adam(1e-2)


def init(key):
    first, second = jax.random.split(key)
    params = {
        "first": jax.random.normal(first, (16, 256)) / 4,
        "second": jax.random.normal(second, (256, 1)) / 16,
    }
    return params, optimizer.init(params)


def train_step(state, x, y):
    def loss_fn(params):
        return jnp.mean((jnp.tanh(x @ params["first"]) @ params["second"] - y) ** 2)

    params, moments = state
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, moments = optimizer.update(grads, moments)
    return (optax.apply_updates(params, updates), moments), loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
state = step.init(init, jax.random.key(0))
rng = np.random.default_rng(0)
for _ in step.progress(range(args.steps)):
    x = rng.normal(size=(64, 16)).astype(np.float32)
    state, loss = step(state, x, np.sin(x.sum(1, keepdims=True)))
print(step.plan)
