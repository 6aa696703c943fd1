"""rnn_step.py OUT.hlo.pb [BATCH]: lowers a step of two recurrent layers, time first.

BATCH is JSON, what `lower` is told of the batch.
"""

import json
import sys

import jax
import jax.numpy as jnp

import meshwright

TIME, EXAMPLES, WIDTH, LABELS = 6, 16, 32, 64


def layer(params, x):
    def turn(h, x):
        h = jnp.tanh(x @ params["in"] + h @ params["turn"])
        return h, h

    return jax.lax.scan(turn, jnp.zeros((EXAMPLES, WIDTH)), x)[1]


def loss_of(params, batch):
    x = batch["x"]
    for each in params["layers"]:
        x = layer(each, x)
    mask = jnp.arange(TIME)[:, None] < batch["lengths"]
    scores = jax.nn.log_softmax(jnp.sum(x * mask[..., None], 0) @ params["out"])
    return -jnp.mean(jnp.take_along_axis(scores, batch["labels"][:, None], 1))


def step(state, batch):
    loss, gradients = jax.value_and_grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), loss


def array(*dimensions, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


if __name__ == "__main__":
    weights = {"in": array(WIDTH, WIDTH), "turn": array(WIDTH, WIDTH)}
    state = {"layers": [weights, weights], "out": array(WIDTH, LABELS)}
    batch = {
        "x": array(TIME, EXAMPLES, WIDTH),
        "lengths": array(EXAMPLES, dtype=jnp.int32),
        "labels": array(EXAMPLES, dtype=jnp.int32),
    }
    told = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None
    meshwright.lower(step, state, batch, batch=told).save(sys.argv[1])
