"""scoped_step.py OUT.hlo.pb: three alike layers, with the scopes that people give."""

import sys

import jax
import jax.numpy as jnp

import meshwright

LAYERS = 3


def forward(params, x):
    for index, block in enumerate(params["blocks"]):
        with jax.named_scope(f"blocks/{index}"):
            with jax.named_scope("up"):
                hidden = jax.nn.silu(x @ block["up"])
            with jax.named_scope("down"):
                x = x + hidden @ block["down"]
    with jax.named_scope("head"):
        return x @ params["head"]


def step(state, batch):
    def loss_of(params):
        return jnp.mean((forward(params, batch["x"]) - batch["y"]) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), loss


def array(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


if __name__ == "__main__":
    block = {"up": array(32, 128), "down": array(128, 32)}
    state = {"blocks": [block] * LAYERS, "head": array(32, 16)}
    batch = {"x": array(64, 32), "y": array(64, 16)}
    meshwright.lower(step, state, batch).save(sys.argv[1])
