"""Lowers a training step around kernels whose insides nobody knows.

python kernel_step.py OUT.hlo.pb [--large] [--times N] [--layers N] [--update]
    [--rules | FORWARD_RULE]

A kernel takes f32[B,N] and a scale f32[N] and gives f32[B,N], a sum f32[B] and an empty
workspace; its backward gives both gradients. With --rules each says how it is split;
with a rule, the forward one says that. --large makes arrays that take time, --times N
has the kernel in a loop, --layers N in so many more layers; with --update there is one on the weight's gradient only.
"""

import argparse

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

import meshwright

FORWARD = "b n, n -> b n, b, w {need_replication: n}"
BACKWARD = "b n, n, b n -> b n, n, w {reduction: b; need_replication: n}"

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("rule", nargs="?")
parser.add_argument("--rules", action="store_true")
parser.add_argument("--large", action="store_true")
parser.add_argument("--times", type=int, default=1)
parser.add_argument("--layers", type=int, default=0)
parser.add_argument("--update", action="store_true")
ASKED = parser.parse_args()

RULES = {"norm": FORWARD, "norm_grad": BACKWARD}
if not ASKED.rules:
    RULES = {"norm": ASKED.rule} if ASKED.rule else {}
BATCH, WIDTH = (8192, 4096) if ASKED.large else (32, 128)


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
        hidden = batch @ state["up"]
        if ASKED.update:
            hidden = jnp.tanh(hidden)
        elif ASKED.times == 1:
            hidden = norm(hidden, state["scale"])
        else:
            again = lambda x, _: (norm(x, state["scale"]), None)
            hidden, _ = jax.lax.scan(again, hidden, length=ASKED.times)
        for weight in state.get("layers", ()):
            hidden = norm(hidden @ weight, state["scale"])
        return jnp.mean((hidden @ state["down"]) ** 2)

    value, gradients = jax.value_and_grad(loss)(state)
    if ASKED.update:
        gradients["up"] = call("muon", (state["up"].shape,), gradients["up"])[0]
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value


if __name__ == "__main__":
    state = {
        "up": jax.ShapeDtypeStruct((64, WIDTH), jnp.float32),
        "down": jax.ShapeDtypeStruct((WIDTH, 32), jnp.float32),
        "scale": jax.ShapeDtypeStruct((WIDTH,), jnp.float32),
    }
    if ASKED.layers:
        layer = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)
        state["layers"] = [layer] * ASKED.layers
    batch = jax.ShapeDtypeStruct((BATCH, 64), jnp.float32)
    meshwright.lower(step, state, batch).save(ASKED.out)
