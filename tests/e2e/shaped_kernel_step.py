"""Lowers a training step around kernels whose program depends on the shapes they see.

python shaped_kernel_step.py OUT.hlo.pb [--loop] [--centred] [--variants N] [--rows N]

A norm of rows in blocks with noise from a seed, by Pallas, forward and backward; and a
matrix product in blocks of columns, that also leaves a workspace. With --loop the layers
are a scan under jax.checkpoint. With --centred the norm depends on all rows, and its rule
is wrong.
"""

import argparse

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import meshwright

FORWARD = "b n, n, -> b n, b {need_replication: n}"
BACKWARD = "b n, n, b n, b -> b n, n {reduction: b; need_replication: n}"
PRODUCT = "b k, k n -> b n, w {reduction: k}"
BLOCK = 4


def rows(x):
    """A block of rows of each."""
    return pl.BlockSpec((BLOCK, *x.shape[1:]), lambda i: (i, *(0 for _ in x.shape[1:])))


def whole(x):
    return pl.BlockSpec(x.shape, lambda i: (0,) * x.ndim)


def norm_forward(x, scale, seed, *, centred=False):
    if centred:
        x = x - jnp.mean(x, axis=0)

    def body(x_ref, scale_ref, seed_ref, y_ref, size_ref):
        values = x_ref[...]
        size = jax.lax.rsqrt(jnp.mean(values * values, axis=1) + 1e-3)
        shift = seed_ref[0].astype(jnp.float32) * 1e-3
        y_ref[...] = values * size[:, None] * scale_ref[...] + shift
        size_ref[...] = size

    if x.shape[0] % BLOCK:
        raise ValueError(f"{x.shape[0]} rows are no blocks of {BLOCK}")
    sizes = jax.ShapeDtypeStruct(x.shape[:1], x.dtype)
    seeds = seed.reshape(1)
    return pl.pallas_call(
        body,
        grid=x.shape[0] // BLOCK,
        in_specs=[rows(x), whole(scale), whole(seeds)],
        out_specs=[rows(x), rows(sizes)],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype), sizes],
        interpret=True,
    )(x, scale, seeds)


def norm_backward(x, scale, gradient, size):
    """Block by block, for the scale as a running sum."""

    def block(i, sums):
        dx, dscale = sums
        part = [
            jax.lax.dynamic_slice_in_dim(a, i * BLOCK, BLOCK) for a in (x, gradient)
        ]
        s = jax.lax.dynamic_slice_in_dim(size, i * BLOCK, BLOCK)[:, None]
        g = part[1] * scale
        inner = jnp.mean(g * part[0], axis=1, keepdims=True)
        grown = s * g - s**3 * part[0] * inner
        dx = jax.lax.dynamic_update_slice_in_dim(dx, grown, i * BLOCK, 0)
        return dx, dscale + jnp.sum(part[1] * part[0] * s, axis=0)

    start = jnp.zeros_like(x), jnp.zeros_like(scale)
    return jax.lax.fori_loop(0, x.shape[0] // BLOCK, block, start)


def product(x, w, *, columns):
    parts = [x @ w[:, at : at + columns] for at in range(0, w.shape[1], columns)]
    return jnp.concatenate(parts, axis=1), jnp.zeros((0,), jnp.uint8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--centred", action="store_true")
    parser.add_argument("--variants", type=int, default=32)
    parser.add_argument("--rows", type=int, default=64)
    flags = parser.parse_args()
    forward = meshwright.kernel(norm_forward, rule=FORWARD)
    backward = meshwright.kernel(norm_backward, rule=BACKWARD)
    times = meshwright.kernel(product, rule=PRODUCT)

    @jax.custom_vjp
    def norm(x, scale, seed):
        return forward(x, scale, seed, centred=flags.centred)[0]

    def norm_with_size(x, scale, seed):
        y, size = forward(x, scale, seed, centred=flags.centred)
        return y, (x, scale, size)

    def norm_gradients(kept, gradient):
        x, scale, size = kept
        return *backward(x, scale, gradient, size), None

    norm.defvjp(norm_with_size, norm_gradients)

    @jax.custom_vjp
    def matmul(x, w):
        return times(x, w, columns=8)[0]

    def matmul_gradients(kept, gradient):
        x, w = kept
        return gradient @ w.T, times(x.T, gradient, columns=8)[0]

    matmul.defvjp(lambda x, w: (matmul(x, w), (x, w)), matmul_gradients)

    def layer(x, weights):
        scale, up, seed = weights
        return x + matmul(norm(x, scale, seed), up)

    def step(state, batch, seed):
        def loss(state):
            seeds = seed + jnp.arange(2)
            layers = state["scale"], state["up"], seeds
            if flags.loop:
                body = jax.checkpoint(lambda x, one: (layer(x, one), None))
                x, _ = jax.lax.scan(body, batch, layers)
            else:
                x = batch
                for i in range(2):
                    x = jax.jit(layer)(x, jax.tree.map(lambda a, i=i: a[i], layers))
            return 100 * jnp.mean((x @ state["down"] - 1) ** 2)

        value, gradients = jax.value_and_grad(loss)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value

    state = {
        "scale": jnp.ones((2, 32)),
        "up": jnp.ones((2, 32, 32)),
        "down": jnp.ones((32, 16)),
    }
    batch, seed = jnp.ones((flags.rows, 32)), jnp.int32(3)
    module = meshwright.lower(step, state, batch, seed, kernel_variants=flags.variants)
    module.save(flags.out)


if __name__ == "__main__":
    main()
