"""Lowers a training step around kernels whose insides nobody knows.

python kernel_step.py OUT.hlo.pb [--rules | FORWARD_RULE]

A kernel takes f32[B,N] and a scale f32[N] and gives f32[B,N], a sum f32[B] and an empty
workspace; its backward gives both gradients. With --rules each says how it is split;
with a rule, the forward one says that.
"""

import sys

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

import meshwright

FORWARD = "b n, n -> b n, b, w {need_replication: n}"
BACKWARD = "b n, n, b n -> b n, n, w {reduction: b; need_replication: n}"
RULES = {"norm": FORWARD, "norm_grad": BACKWARD}
if sys.argv[2:] != ["--rules"]:
    RULES = dict.fromkeys(("norm",), sys.argv[2]) if sys.argv[2:] else {}


def call(target, results, *operands):
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in results]
    kernel = jax.ffi.ffi_call(target, (*shapes, jax.ShapeDtypeStruct((0,), jnp.uint8)))
    if target not in RULES:
        return kernel(*operands)
    with set_xla_metadata(**{"mw.rule": RULES[target]}):
        return kernel(*(operand * 1.0 for operand in operands))  # Has it, too.


@jax.custom_vjp
def norm(x, scale):
    return call("norm", (x.shape, x.shape[:1]), x, scale)[0]


def forward(x, scale):
    return norm(x, scale), (x, scale)


def backward(kept, gradient):
    x, scale = kept
    return tuple(call("norm_grad", (x.shape, scale.shape), x, scale, gradient)[:2])


norm.defvjp(forward, backward)


def step(state, batch):
    def loss(state):
        hidden = norm(batch @ state["up"], state["scale"])
        return jnp.mean((hidden @ state["down"]) ** 2)

    value, gradients = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value


if __name__ == "__main__":
    state = {
        "up": jnp.ones((64, 128)),
        "down": jnp.ones((128, 32)),
        "scale": jnp.ones(128),
    }
    meshwright.lower(step, state, jnp.ones((32, 64))).save(sys.argv[1])
