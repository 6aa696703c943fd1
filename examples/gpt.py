"""A GPT on text, byte by byte: plain JAX, written for one device.

python examples/gpt.py                           # 8 virtual devices of this machine
python examples/gpt.py --cluster h200:8          # its GPUs
python examples/gpt.py my.txt --width 768 --layers 12 --heads 12 --length 1024
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
text = Path(__file__).parents[1] / "testdata/text.txt"
parser.add_argument("text", nargs="?", default=text)
parser.add_argument("--cluster")
sizes = {"steps": 100, "batch": 16, "length": 64, "width": 64, "layers": 2, "heads": 4}
for name, size in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()
optimizer = optax.adamw(1e-3)


def init(key):
    d, keys = args.width, iter(jax.random.split(key, 4 * args.layers + 2))

    def weight(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    def block():
        p = {"qkv": weight(d, 3, args.heads, d // args.heads), "out": weight(d, d)}
        return p | {"up": weight(d, 4 * d), "down": weight(4 * d, d)}

    params = {"wte": weight(256, d), "wpe": weight(args.length, d)}
    params["blocks"] = [block() for _ in range(args.layers)]
    return {"params": params, "optimizer": optimizer.init(params)}


def loss_fn(params, tokens):
    x = params["wte"][tokens[:, :-1]] + params["wpe"]
    for p in params["blocks"]:
        qkv = jnp.einsum("btd,dchk->cbthk", jax.nn.standardize(x), p["qkv"])
        mixed = jax.nn.dot_product_attention(*qkv, is_causal=True)
        x += mixed.reshape(x.shape) @ p["out"]
        x += jax.nn.gelu(jax.nn.standardize(x) @ p["up"]) @ p["down"]
    logits = jax.nn.standardize(x) @ params["wte"].T
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels
    return cross_entropy(logits, tokens[:, 1:]).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], tokens)
    updates, moments = optimizer.update(grads, state["optimizer"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    return {"params": params, "optimizer": moments}, loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
state = step.init(init, jax.random.key(0))
text, rng = np.fromfile(args.text, np.uint8), np.random.default_rng(0)
for _ in step.progress(range(args.steps)):
    starts = rng.integers(0, len(text) - args.length, (args.batch, 1))
    tokens = text[starts + np.arange(args.length + 1)].astype(np.int32)
    state, loss = step(state, tokens)
