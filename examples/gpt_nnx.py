"""A GPT on text, byte by byte, in flax.nnx: model and optimizer are updated in place.

python examples/gpt_nnx.py --cluster h200:8 --width 768 --layers 12 --heads 12
"""

import argparse
from functools import partial
from pathlib import Path

import jax
import numpy as np
import optax
from flax import nnx

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--cluster")
sizes = {"steps": 100, "batch": 16, "length": 64, "width": 64, "layers": 2, "heads": 4}
for name, size in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()


class Block(nnx.Module):
    def __init__(self, rngs):
        d, linear = args.width, partial(nnx.Linear, rngs=rngs)
        self.norm1, self.norm2 = (nnx.LayerNorm(d, rngs=rngs) for _ in range(2))
        self.attention = nnx.MultiHeadAttention(args.heads, d, decode=False, rngs=rngs)
        self.mlp = nnx.Sequential(linear(d, 4 * d), nnx.gelu, linear(4 * d, d))

    def __call__(self, x):
        x += self.attention(self.norm1(x), mask=nnx.make_causal_mask(x[..., 0]))
        return x + self.mlp(self.norm2(x))


class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(256, args.width, rngs=rngs)
        self.wpe = nnx.Embed(args.length, args.width, rngs=rngs)
        self.blocks = nnx.Sequential(*[Block(rngs) for _ in range(args.layers)])

    def __call__(self, tokens):
        return self.wte.attend(self.blocks(self.wte(tokens) + self.wpe.embedding))


def create(key):
    model = GPT(nnx.Rngs(key))
    return model, nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)


def train_step(model, optimizer, tokens):
    def loss_fn(model):
        cross_entropy = optax.softmax_cross_entropy_with_integer_labels
        return cross_entropy(model(tokens[:, :-1]), tokens[:, 1:]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
model, optimizer = step.init(create, jax.random.key(0))
text = np.fromfile(Path(__file__).parents[1] / "testdata/text.txt", np.uint8)
rng = np.random.default_rng(0)
for _ in step.progress(range(args.steps)):
    starts = rng.integers(0, len(text) - args.length, (args.batch, 1))
    tokens = text[starts + np.arange(args.length + 1)].astype(np.int32)
    loss = step(model, optimizer, tokens)
