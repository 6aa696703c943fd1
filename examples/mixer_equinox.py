"""An MLP-Mixer in equinox on generated images.

python examples/mixer_equinox.py --cluster h200:8 --width 512 --layers 8
"""

import argparse

import equinox as eqx
import jax
import numpy as np
import optax

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--cluster")
sizes = {"steps": 100, "batch": 32, "patches": 16, "width": 64, "layers": 2}
for name, size in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()
optimizer = optax.adam(1e-3)


class Mixer(eqx.Module):
    embed: eqx.nn.Linear
    tokens: list
    channels: list
    head: eqx.nn.Linear

    def __init__(self, key):
        p, d = args.patches, args.width
        first, last, *keys = jax.random.split(key, 2 * args.layers + 2)
        self.embed = eqx.nn.Linear(48, d, key=first)
        self.tokens = [eqx.nn.MLP(p, p, 4 * p, 1, key=k) for k in keys[::2]]
        self.channels = [eqx.nn.MLP(d, d, 4 * d, 1, key=k) for k in keys[1::2]]
        self.head = eqx.nn.Linear(d, 10, key=last)

    def __call__(self, image):
        x = jax.vmap(self.embed)(image)
        for tokens, channels in zip(self.tokens, self.channels, strict=True):
            x += jax.vmap(tokens, 1, 1)(jax.nn.standardize(x))
            x += jax.vmap(channels)(jax.nn.standardize(x))
        return self.head(x.mean(0))


def init(key):
    model = Mixer(key)
    return model, optimizer.init(eqx.filter(model, eqx.is_array))


def train_step(model, moments, images, labels):
    def loss_fn(model):
        cross_entropy = optax.softmax_cross_entropy_with_integer_labels
        return cross_entropy(jax.vmap(model)(images), labels).mean()

    loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
    updates, moments = optimizer.update(grads, moments)
    return eqx.apply_updates(model, updates), moments, loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
model, moments = step.init(init, jax.random.key(0))
rng = np.random.default_rng(0)
patterns = rng.normal(size=(10, args.patches, 48))
for _ in step.progress(range(args.steps)):
    labels = rng.integers(0, 10, args.batch)
    images = patterns[labels] + rng.normal(size=(args.batch, args.patches, 48))
    model, moments, loss = step(model, moments, images, labels)
