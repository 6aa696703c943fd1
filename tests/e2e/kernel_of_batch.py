"""Lowers a step whose kernel of unknown insides reads the batch as it comes.

python kernel_of_batch.py OUT.hlo.pb RULE
"""

import sys

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

import meshwright


def norm(x, scale):
    shapes = ((x.shape, jnp.float32), (x.shape[:1], jnp.float32), ((0,), jnp.uint8))
    results = [jax.ShapeDtypeStruct(*one) for one in shapes]
    with set_xla_metadata(**{"mw.rule": sys.argv[2]}):
        return jax.ffi.ffi_call("norm", results)(x, scale)[0]


def step(state, batch):
    total = jnp.sum(norm(batch, jnp.full((128,), 2.0)) ** 3)
    return {"total": state["total"] + total}, total


state = {"total": jax.ShapeDtypeStruct((), jnp.float32)}
batch = jax.ShapeDtypeStruct((32, 128), jnp.float32)
meshwright.lower(step, state, batch).save(sys.argv[1])
