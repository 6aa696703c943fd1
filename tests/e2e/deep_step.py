"""deep_step.py OUT.hlo.pb: lowers a training step of 16 wide layers, to be planned."""

import sys

import jax
import jax.numpy as jnp

import meshwright

LAYERS = 16


def step(state, batch):
    def loss_of(params):
        hidden = batch["x"]
        for weights in params:
            hidden = jnp.tanh(hidden @ weights)
        return jnp.mean((hidden - batch["y"]) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), loss


def array(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


if __name__ == "__main__":
    state = [array(8192, 8192) for _ in range(LAYERS)]
    batch = {"x": array(32768, 8192), "y": array(32768, 8192)}
    meshwright.lower(step, state, batch).save(sys.argv[1])
