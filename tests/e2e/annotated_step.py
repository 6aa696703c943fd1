"""Writes a step with a function that has JAX's `custom_partitioning` and a rule.

annotated_step.py OUT
"""

import sys

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

import meshwright


def normed(x, scale):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def partition(mesh, operands, result):
    rows = NamedSharding(mesh, PartitionSpec(operands[0].sharding.spec[0], None))
    whole = NamedSharding(mesh, PartitionSpec(None))
    return mesh, normed, rows, (rows, whole)


annotated = custom_partitioning(normed)
annotated.def_partition(partition=partition, sharding_rule="b n, n -> b n")


@jax.custom_vjp
def norm(x, scale):
    return annotated(x, scale)


def gradients(kept, gradient):
    return jax.vjp(normed, *kept)[1](gradient)


norm.defvjp(lambda x, scale: (norm(x, scale), (x, scale)), gradients)


def step(state, batch):
    def loss(state):
        return jnp.mean((norm(batch @ state["up"], state["scale"]) - 1) ** 2)

    value, gradient = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradient), value


def main():
    state = {"scale": jnp.ones(32), "up": jnp.ones((16, 32))}
    meshwright.lower(step, state, jnp.ones((64, 16))).save(sys.argv[1])


if __name__ == "__main__":
    main()
