"""A mixture-of-experts language model: every token goes to one of the experts.

python examples/moe.py --cluster h200:8 --width 1024 --layers 12 --experts 64
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--cluster")
sizes = {"steps": 100, "batch": 16, "length": 32, "width": 32, "layers": 2}
for name, size in (sizes | {"experts": 8}).items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()
optimizer = optax.adam(1e-3)


def init(key):
    d, n, t = args.width, args.experts, args.length
    block = {"mix": (t, t), "gate": (d, n), "up": (n, d, 4 * d), "down": (n, 4 * d, d)}
    shapes = {"wte": (256, d), "blocks": [block] * args.layers, "head": (d, 256)}
    leaves, tree = jax.tree.flatten(shapes, is_leaf=lambda x: isinstance(x, tuple))
    draw, keys = jax.nn.initializers.lecun_normal(), jax.random.split(key, len(leaves))
    params = tree.unflatten(map(draw, keys, leaves))
    return params, optimizer.init(params)


def experts(p, x):
    """Of each example, an expert takes so many tokens; others pass it by."""
    gates = jax.nn.softmax(x @ p["gate"])
    chosen = jax.nn.one_hot(gates.argmax(-1), args.experts, dtype=int)
    place = jnp.cumsum(chosen, 1) * chosen - 1
    sent = jax.nn.one_hot(place, 2 * args.length // args.experts)
    hidden = jnp.einsum("btec,btd,edh->ebch", sent, x, p["up"])
    outputs = jnp.einsum("ebch,ehd->ebcd", jax.nn.relu(hidden), p["down"])
    return jnp.einsum("btec,bte,ebcd->btd", sent, gates, outputs)


def loss_fn(params, tokens):
    x = params["wte"][tokens[:, :-1]]
    for p in params["blocks"]:
        x += jnp.einsum("ts,bsd->btd", jnp.tril(p["mix"]), x)
        x += experts(p, jax.nn.standardize(x))
    logits = jax.nn.standardize(x) @ params["head"]
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels
    return cross_entropy(logits, tokens[:, 1:]).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state[0], tokens)
    updates, moments = optimizer.update(grads, state[1])
    return (optax.apply_updates(state[0], updates), moments), loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
state = step.init(init, jax.random.key(0))
text = np.fromfile(Path(__file__).parents[1] / "testdata/text.txt", np.uint8)
rng = np.random.default_rng(0)
for _ in step.progress(range(args.steps)):
    starts = rng.integers(0, len(text) - args.length, (args.batch, 1))
    tokens = text[starts + np.arange(args.length + 1)].astype(np.int32)
    state, loss = step(state, tokens)
