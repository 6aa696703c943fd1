"""Lowers the small training steps that the tests of micro-batches read.

python make_steps.py   # with the versions of tools/requirements
"""

import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
import meshwright

BATCH = 12
FEATURES = 8
HIDDEN = 16
VOCABULARY = 24
LENGTH = 6


def array(*dimensions, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


WEIGHTS = {"in": array(FEATURES, HIDDEN), "out": array(HIDDEN, FEATURES)}
ADAPTERS = {"down": array(FEATURES, 2), "up": array(2, HIDDEN)}
X = array(BATCH, FEATURES)
MASK = array(BATCH)
TOKENS = array(BATCH, LENGTH, dtype=jnp.int32)
KEY = array(2, dtype=jnp.uint32)


def forward(weights, x):
    # Synthetic values are small.
    return jnp.tanh(40 * x @ (20 * weights["in"])) @ (20 * weights["out"])


def example_losses(weights, x):
    return jnp.sum((forward(weights, x) - 30 * x) ** 2, axis=-1)


def update(weights, gradients, rate=0.01):
    return jax.tree.map(lambda w, g: w - rate * g, weights, gradients)


def train(weights, loss, *args):
    """The new weights, the loss, and the gradients for a closer look."""
    value, gradients = jax.value_and_grad(loss)(weights, *args)
    return update(weights, gradients), value, gradients


def mean(weights, x):
    return train(weights, lambda w, x: jnp.mean(example_losses(w, x)), x)


def masked_mean(weights, x, mask):
    def loss(w, x, mask):
        counts = (mask > 0).astype(jnp.float32)
        return jnp.sum(example_losses(w, x) * counts) / jnp.sum(counts)

    return train(weights, loss, x, mask)


def softmax_weights(weights, x, scores):
    def loss(w, x, scores):
        return jnp.sum(example_losses(w, x) * jax.nn.softmax(99 * scores))

    return train(weights, loss, x, scores)


def frozen_weights(adapters, frozen, x):
    def loss(a, x):
        added = {"in": a["down"] @ a["up"], "out": 0}
        return jnp.mean(example_losses(jax.tree.map(jnp.add, frozen, added), x))

    return train(adapters, loss, x)


def dropout(weights, key, x):
    key, now = jax.random.split(key)

    def loss(w, x):
        keep = jax.random.bernoulli(now, 0.7, x.shape)
        return jnp.mean(example_losses(w, jnp.where(keep, x, 0)))

    return *train(weights, loss, x), key


def random_bits(weights, key, x):
    state = jnp.concatenate([key, key])
    state, bits = lax.rng_bit_generator(state, x.shape)

    def loss(w, x):
        return jnp.mean(example_losses(w, jnp.where(bits % 3 > 0, x, 0)))

    return *train(weights, loss, x), state[:2]


def scanned_dropout(stacked, key, x):
    def loss(w, x):
        def layer(carry, inputs):
            weight, now = inputs
            keep = jax.random.bernoulli(now, 0.7, carry.shape)
            return jnp.tanh(jnp.where(keep, carry, 0) @ (30 * weight)), None

        keys = jax.random.split(key, 3)
        return jnp.mean(lax.scan(layer, 40 * x, (w, keys))[0] ** 2)

    return train(stacked, loss, x)


def tied_embeddings(table, tokens):
    def loss(table, tokens):
        logits = (60 * table[tokens[:, :-1]]) @ (60 * table.T)
        picked = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(picked, tokens[:, 1:, None], -1))

    return train(table, loss, tokens)


def schedule(weights, count, x):
    loss = lambda w, x: jnp.mean(example_losses(w, x))
    value, gradients = jax.value_and_grad(loss)(weights, x)
    rate = 0.01 / (1 + count.astype(jnp.float32))
    return update(weights, gradients, rate), count + 1, value


def clipped(weights, x):
    loss = lambda w, x: jnp.mean(example_losses(w, x))
    value, gradients = jax.value_and_grad(loss)(weights, x)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g / jnp.maximum(norm, 1), gradients)
    return update(weights, gradients), value, norm


def scaled_rows(weights, x):
    """What is cheapest to accumulate depends on the loss."""
    new, value, gradients = mean(weights, x)
    rows = (gradients["out"] / (1 + value))[:2]
    return {"in": new["in"], "out": weights["out"]}, value, rows


def skipped_when_infinite(weights, x):
    loss = lambda w, x: jnp.mean(example_losses(w, x))
    value, gradients = jax.value_and_grad(loss)(weights, x)
    finite = jnp.array([jnp.all(jnp.isfinite(g)) for g in gradients.values()])
    return (
        lax.cond(
            jnp.all(finite),
            lambda w, g: update(w, g),
            lambda w, g: w,
            weights,
            gradients,
        ),
        value,
    )


def metrics(weights, x):
    """Outputs that hold the batch, and reductions of all kinds."""
    losses = example_losses(weights, x)
    logits = forward(weights, x)
    new, value, _ = mean(weights, x)
    return (
        new,
        value,
        {
            "losses": losses,
            "best": jnp.argmax(logits, -1),
            "largest": jnp.max(losses),
            "smallest": jnp.min(losses),
            "sane": jnp.all(losses < 1e9),
            "any": jnp.any(losses > 1),
            "median": jnp.sort(losses)[BATCH // 2],
            "logits": logits.T,
        },
    )


def digits(weights, x):
    """The batch as the minor part of a dimension, and cut in two."""
    new, value, gradients = mean(weights, x)
    y = forward(weights, x)
    copies = jnp.stack([y, 2 * y, 3 * y]).reshape(3 * BATCH, FEATURES)
    halves = jnp.sum(y.reshape(2, BATCH // 2, FEATURES), axis=(0, 2))
    return new, value, gradients, copies, halves


def flattened(weights, x):
    """The batch as the minor part of what is contracted."""

    def loss(w, x):
        x = jnp.stack([x, 2 * x, 3 * x]).reshape(3 * BATCH, FEATURES)
        return jnp.mean(forward(w, x) ** 2)

    return train(weights, loss, x)


def sequence_major(weights, x, position):
    def loss(w, x, position):
        return jnp.mean(forward(w, x + position[:, None]) ** 2)

    return train(weights, loss, x, position)


def accumulated_by_hand(weights, x):
    loss = lambda w, x: jnp.mean(example_losses(w, x))

    def body(total, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(jnp.add, total, gradients), value

    zeros = jax.tree.map(jnp.zeros_like, weights)
    gradients, values = lax.scan(body, zeros, x)
    return update(weights, gradients), jnp.mean(values)


def half_precision(weights, x):
    def loss(w, x):
        w = jax.tree.map(lambda a: a.astype(jnp.bfloat16), w)
        y = forward(w, x.astype(jnp.bfloat16)).astype(jnp.float32)
        return jnp.mean((y - 30 * x) ** 2)

    return train(weights, loss, x)


def running_mean(weights, average, x):
    new, value, gradients = mean(weights, x)
    return new, 0.9 * average + 0.1 * jnp.mean(x, axis=0), value, gradients


def normalised(y, parts):
    """Batch norm of each of equal parts of the batch."""
    z = y.reshape(parts, BATCH // parts, y.shape[-1])
    centred = z - jnp.mean(z, 1, keepdims=True)
    z = centred / jnp.sqrt(jnp.mean(centred**2, 1, keepdims=True) + 1e-2)
    return z.reshape(y.shape)


def batch_norm(weights, x, parts=1):
    def loss(w, x):
        y = normalised(40 * x @ w["in"], parts)
        return jnp.mean((y @ (20 * w["out"]) - x) ** 2)

    return train(weights, loss, x)


def batch_norm_of_thirds(weights, x):
    return batch_norm(weights, x, 3)


def scanned_batch_norm(stacked, x, parts=1):
    def loss(w, x):
        def layer(carry, weight):
            return normalised(carry @ (30 * weight), parts), None

        return jnp.mean((lax.scan(layer, 40 * x, w)[0] - 30 * x) ** 2)

    return train(stacked, loss, x)


def scanned_batch_norm_of_thirds(stacked, x):
    return scanned_batch_norm(stacked, x, 3)


def clipped_momentum(weights, momentum, gradients):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g / jnp.maximum(norm, 1), gradients)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return update(weights, momentum), momentum, norm


def scanned_layers(weights, momentum, x, wrap=lambda layer: layer):
    """Layers whose sizes are recorded, a mask for all of them, and a head."""

    def layer(carry, weights):
        y = jnp.tanh(carry @ (30 * weights["w"]) + weights["b"])
        y = jnp.where(jnp.arange(FEATURES) < 6, y, carry)
        return y, jnp.mean(y**2)

    def loss(w, x):
        y, sizes = lax.scan(wrap(layer), 40 * x, w["layers"])
        return jnp.mean((y @ (20 * w["head"]) - 30 * x) ** 2), sizes

    (value, sizes), gradients = jax.value_and_grad(loss, has_aux=True)(weights, x)
    weights, momentum, norm = clipped_momentum(weights, momentum, gradients)
    return weights, momentum, value, sizes, norm


def scanned_remat(weights, momentum, x):
    wrap = lambda layer: jax.checkpoint(layer, prevent_cse=False)
    return scanned_layers(weights, momentum, x, wrap)


def scanned_checkpoint(weights, momentum, x):
    """With barriers around what the layers are computed from again."""
    return scanned_layers(weights, momentum, x, jax.checkpoint)


def scanned_both_ways(stacked, x):
    """Up and down again with the same weights, two layers at a time."""

    def pair(carry, weights):
        return jnp.tanh(jnp.tanh(carry @ (30 * weights[0])) @ (30 * weights[1])), None

    def loss(w, x):
        w = w.reshape(3, 2, FEATURES, FEATURES).astype(jnp.float32)
        up, _ = lax.scan(pair, 40 * x, w)
        down, _ = lax.scan(pair, up, w, reverse=True)
        return jnp.mean((down - 30 * x) ** 2)

    return train(stacked, loss, x)


def hard_examples(weights, x):
    def loss(w, x):
        return jnp.mean(jnp.sort(example_losses(w, x))[BATCH // 2 :])

    return train(weights, loss, x)


def contrastive(weights, x):
    def loss(w, x):
        y = forward(w, x)
        return -jnp.mean(jnp.diag(jax.nn.log_softmax(y @ y.T)))

    return train(weights, loss, x)


def ranked(weights, x):
    def loss(w, x):
        y = forward(w, x)
        return jnp.mean(jnp.cumsum(y, axis=0) ** 2)

    return train(weights, loss, x)


STACKED = array(3, FEATURES, FEATURES)
LAYERS = {
    "layers": {"w": array(7, FEATURES, FEATURES), "b": array(7, FEATURES)},
    "head": array(FEATURES, FEATURES),
}
COUNT = array(dtype=jnp.int32)
STEPS = {
    mean: (WEIGHTS, X),
    masked_mean: (WEIGHTS, X, MASK),
    softmax_weights: (WEIGHTS, X, MASK),
    frozen_weights: (ADAPTERS, WEIGHTS, X),
    dropout: (WEIGHTS, KEY, X),
    random_bits: (WEIGHTS, KEY, X),
    scanned_dropout: (STACKED, KEY, X),
    tied_embeddings: (array(VOCABULARY, FEATURES), TOKENS),
    schedule: (WEIGHTS, COUNT, X),
    clipped: (WEIGHTS, X),
    scaled_rows: (WEIGHTS, X),
    skipped_when_infinite: (WEIGHTS, X),
    metrics: (WEIGHTS, X),
    digits: (WEIGHTS, X),
    flattened: (WEIGHTS, X),
    sequence_major: (WEIGHTS, array(LENGTH, BATCH, FEATURES), array(LENGTH, FEATURES)),
    accumulated_by_hand: (WEIGHTS, array(2, BATCH, FEATURES)),
    half_precision: (WEIGHTS, X),
    running_mean: (WEIGHTS, array(FEATURES), X),
    batch_norm: (WEIGHTS, X),
    batch_norm_of_thirds: (WEIGHTS, X),
    scanned_batch_norm: (STACKED, X),
    scanned_batch_norm_of_thirds: (STACKED, X),
    scanned_layers: (LAYERS, LAYERS, X),
    scanned_remat: (LAYERS, LAYERS, X),
    scanned_checkpoint: (LAYERS, LAYERS, X),
    scanned_both_ways: (array(6, FEATURES, FEATURES), X),
    hard_examples: (WEIGHTS, X),
    contrastive: (WEIGHTS, X),
    ranked: (WEIGHTS, X),
}


def main():
    # Leave the folder of this file out of the modules.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    for step, arguments in STEPS.items():
        module = meshwright.lower(step, *arguments)
        module.save(Path(__file__).with_name(f"{step.__name__}.hlo.pb.zst"))


main()
