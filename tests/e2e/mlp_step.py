"""mlp_step.py OUT.hlo.pb: lowers a training step of two layers, quick to compile."""

import sys

import jax
import jax.numpy as jnp

import meshwright


def step(state, batch):
    def loss_of(params):
        hidden = jnp.tanh(batch["x"] @ params["up"] + params["bias"])
        return jnp.mean((hidden @ params["down"] - batch["y"]) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state["params"])
    moment = jax.tree.map(lambda m, g: 0.9 * m + g, state["moment"], gradients)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], moment)
    return {"params": params, "moment": moment}, loss


def array(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


if __name__ == "__main__":
    weights = {"up": array(32, 64), "bias": array(64), "down": array(64, 16)}
    state = {"params": weights, "moment": weights}
    batch = {"x": array(16, 32), "y": array(16, 16)}
    meshwright.lower(step, state, batch).save(sys.argv[1])
