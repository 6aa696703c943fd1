"""Lowers a step that takes elements of every example, as CLIP's pooling and many losses do.

Which example it is says an iota: alone, with that of positions, as a constant, clamped, with
what is written, and inside of a scan that it was handed to.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import meshwright

BATCH, LENGTH, WIDTH = 8, 6, 16


def loss(weights, batch):
    hidden = jnp.tanh(batch["x"] @ weights)
    examples = jnp.arange(BATCH)
    hidden = hidden.at[examples, batch["masked"]].set(weights[0])

    def follow(state, position):
        return jnp.tanh(state @ weights + hidden[examples, position]), None

    pooled = hidden[examples, batch["last"]]
    pooled, _ = jax.lax.scan(follow, pooled, batch["order"].T)
    _, chosen = jax.lax.top_k(pooled, 2)
    gates = jnp.zeros_like(pooled).at[examples[:, None], chosen].set(1.0)
    log_p = jax.nn.log_softmax((pooled * (1 + gates)) @ weights.T)
    tokens = jax.nn.log_softmax(hidden @ weights.T)
    numbers = np.arange(BATCH)[:, None], np.arange(LENGTH)[None], batch["order"]
    return -jnp.mean(log_p[examples, batch["label"]]) - jnp.mean(
        tokens.at[numbers].get(mode="clip")
    )


def step(weights, batch):
    value, gradient = jax.value_and_grad(loss)(weights, batch)
    return weights - 0.1 * gradient, value


if __name__ == "__main__":
    numbers = jnp.zeros((BATCH,), jnp.int32)
    batch = {"x": jnp.ones((BATCH, LENGTH, WIDTH)), "last": numbers, "label": numbers}
    batch |= {"masked": numbers, "order": jnp.zeros((BATCH, LENGTH), jnp.int32)}
    weights = jnp.full((WIDTH, WIDTH), 0.1)
    meshwright.lower(step, weights, batch).save(sys.argv[1])
