"""callback_step.py OUT.hlo.pb: a step that prints its loss, as jax lowers it."""

import sys

import jax
import jax.numpy as jnp


def step(weights, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(weights)
    jax.debug.print("loss {}", loss)
    return weights - 0.1 * gradient, loss


if __name__ == "__main__":
    lowered = jax.jit(step).lower(jnp.ones((8, 8)), jnp.ones((4, 8)))
    with open(sys.argv[1], "wb") as file:
        file.write(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
