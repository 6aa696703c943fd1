"""drawn_step.py OUT.hlo.pb: lowers a step whose noise is drawn without a key."""

import sys

import jax
import jax.numpy as jnp

import meshwright


def step(weights, x):
    def loss_of(weights):
        noise = jax.lax.rng_uniform(jnp.float32(0), jnp.float32(1), x.shape)
        return jnp.sum((40 * x @ weights * noise) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    return weights - gradients, loss


if __name__ == "__main__":
    weights = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    x = jax.ShapeDtypeStruct((16, 64), jnp.float32)
    meshwright.lower(step, weights, x, state=0).save(sys.argv[1])
