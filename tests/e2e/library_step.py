"""Writes a step for CUDA with Transformer Engine's softmax, called as that does: each
of its calls is a function with `custom_partitioning` and a function that gives a rule.

library_step.py OUT
"""

import sys

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

import meshwright


def primitive(target, operands):
    """Its partition function splits the first dimension only."""

    def call(*operands):
        like = jax.ShapeDtypeStruct(operands[0].shape, operands[0].dtype)
        return jax.ffi.ffi_call(target, like)(*operands, scale=0.5)

    def partition(mesh, structs, result):
        first = NamedSharding(mesh, PartitionSpec(structs[0].sharding.spec[0]))
        return mesh, call, first, (first,) * operands

    def rule(mesh, operands, results):
        dims = " ".join(f"d{i}" for i in range(len(operands[0].shape)))
        return f"{', '.join([dims] * len(operands))} -> {dims}"

    function = custom_partitioning(call)
    function.def_partition(partition=partition, sharding_rule=rule)
    return function


forward = primitive("te_scaled_softmax_forward_ffi", 1)
backward = primitive("te_scaled_softmax_backward_ffi", 2)


@jax.custom_vjp
def softmax(x):
    return forward(x)


softmax.defvjp(lambda x: (forward(x),) * 2, lambda y, dy: (backward(dy, y),))


def step(state, batch):
    def loss(state):
        q, k = (
            jnp.einsum("btc,cnh->bnth", batch, state[name]).astype(jnp.bfloat16)
            for name in ("q", "k")
        )
        shares = softmax(jnp.einsum("bnth,bnsh->bnts", q, k))
        return jnp.mean(jnp.einsum("bnts,bnsh->bnth", shares, k) ** 2)

    value, gradient = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradient), value


state = {name: jnp.ones((32, 4, 16)) for name in ("q", "k")}
batch = jnp.ones((8, 64, 32))
meshwright.lower(step, state, batch, platform="cuda").save(sys.argv[1])
