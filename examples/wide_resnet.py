"""A Wide-ResNet on generated images: convolutions, batch norm over the whole batch.

python examples/wide_resnet.py --cluster h200:8 --width 10 --blocks 4 --batch 512
"""

import argparse

import jax
import numpy as np
import optax

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--cluster")
sizes = {"steps": 100, "batch": 16, "pixels": 16, "width": 1, "blocks": 1}
for name, size in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()
optimizer = optax.sgd(0.01, momentum=0.9)


def init(key):
    widths = [16 * args.width * 2**i for i in range(3) for _ in range(args.blocks)]
    shapes = {"stem": (3, 3, 3, 16), "blocks": [], "head": (widths[-1], 10)}
    for a, b in zip([16, *widths], widths, strict=False):
        block = {"first": (3, 3, a, b), "second": (3, 3, b, b)}
        shapes["blocks"].append(block | {"shortcut": (1, 1, a, b)})
    leaves, tree = jax.tree.flatten(shapes, is_leaf=lambda x: isinstance(x, tuple))
    draw, keys = jax.nn.initializers.he_normal(), jax.random.split(key, len(leaves))
    params = tree.unflatten(map(draw, keys, leaves))
    return params, optimizer.init(params)


def conv(x, kernel, stride=1):
    sides, strides = ("NHWC", "HWIO", "NHWC"), (stride, stride)
    return jax.lax.conv_general_dilated(x, kernel, strides, "SAME", None, None, sides)


def norm_relu(x):
    return jax.nn.relu(jax.nn.standardize(x, axis=(0, 1, 2)))


def loss_fn(params, image, label):
    x = conv(image, params["stem"])
    for i, p in enumerate(params["blocks"]):
        y, stride = norm_relu(x), 2 if i in (args.blocks, 2 * args.blocks) else 1
        inner = norm_relu(conv(y, p["first"], stride))
        x = conv(y, p["shortcut"], stride) + conv(inner, p["second"])
    logits = norm_relu(x).mean((1, 2)) @ params["head"]
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels
    return cross_entropy(logits, label).mean(), (logits.argmax(-1) == label).mean()


def train_step(params, moments, batch):
    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, **batch)
    updates, moments = optimizer.update(grads, moments)
    metrics = {"loss": loss, "accuracy": accuracy}
    return optax.apply_updates(params, updates), moments, metrics


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
params, moments = step.init(init, jax.random.key(0))
rng, shape = np.random.default_rng(0), (args.pixels, args.pixels, 3)
patterns = rng.normal(size=(10, *shape))
for _ in step.progress(range(args.steps)):
    label = rng.integers(0, 10, args.batch)
    image = patterns[label] + rng.normal(size=(args.batch, *shape))
    params, moments, metrics = step(params, moments, {"image": image, "label": label})
