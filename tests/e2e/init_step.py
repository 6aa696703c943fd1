"""A step and the function that makes its state: python init_step.py STEP INIT.

Weights drawn at random, of a key; and others that are not, of two shapes.
"""

import sys

import jax
import jax.numpy as jnp

import meshwright


def init(key):
    up, down = jax.random.split(key)
    return {
        "up": jax.random.normal(up, (48, 96)) / 7,
        "down": 0.1 * jax.random.truncated_normal(down, -2, 2, (96, 48)),
        "bias": jnp.linspace(-1, 1, 48),
        "count": jnp.zeros((), jnp.int32),
    }


def step(state, x):
    def loss_of(weights):
        hidden = jnp.tanh(x @ weights["up"])
        return jnp.mean((hidden @ weights["down"] + weights["bias"] - x) ** 2)

    weights = {name: state[name] for name in ("up", "down", "bias")}
    loss, grads = jax.value_and_grad(loss_of)(weights)
    weights = jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)
    return {**weights, "count": state["count"] + 1}, loss


def main(step_path, init_path):
    key = jax.random.key_data(jax.random.key(7))
    state = jax.eval_shape(init, key)
    x = jax.ShapeDtypeStruct((24, 48), jnp.float32)
    meshwright.lower(step, state, x, state="state").save(step_path)
    meshwright.lower(init, key).save(init_path)


if __name__ == "__main__":
    main(*sys.argv[1:])
