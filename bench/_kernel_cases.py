"""Grouped products and Pallas kernels, for kernel_shards.py."""

import numpy as np
from _attention_cases import normal


def ragged(jax, jnp):
    def fn(x, w, g, sizes):
        out, back = jax.vjp(lambda x, w: jax.lax.ragged_dot(x, w, sizes), x, w)
        return out, *back(g)

    inputs = normal(jax, jnp, [(4096, 512), (16, 512, 1024), (4096, 1024)])
    sizes = np.random.default_rng(1).multinomial(4000, np.ones(16) / 16)
    inputs.append(jnp.asarray(sizes, jnp.int32))
    splits = {
        "rows": {"x": "[x, -]", "g": "[x, -]"},
        "groups": {"w": "[x, -, -]"},
        "contracted": {"x": "[-, x]", "w": "[-, x, -]"},
        "free": {"w": "[-, -, x]", "g": "[-, x]"},
    }
    return fn, inputs, splits


def pallas_norm(jax, jnp):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    import meshwright

    def body(x_ref, scale_ref, out_ref):
        x = x_ref[...].astype(jnp.float32)
        mean = jnp.mean(x * x, axis=-1, keepdims=True)
        scale = scale_ref[...].astype(jnp.float32)
        out_ref[...] = (x * jax.lax.rsqrt(mean + 1e-6) * scale).astype(out_ref.dtype)

    @meshwright.kernel(rule="b n, n -> b n {need_replication: n}")
    def norm(x, scale):
        rows, width = x.shape
        return pl.pallas_call(
            body,
            grid=(rows // 8,),
            in_specs=[
                pl.BlockSpec((8, width), lambda i: (i, 0)),
                pl.BlockSpec((width,), lambda i: (0,)),
            ],
            out_specs=pl.BlockSpec((8, width), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            compiler_params=triton.CompilerParams(),
        )(x, scale)

    def fn(x, scale):
        y = norm(x, scale)
        return y, -y

    return fn, normal(jax, jnp, [(4096, 1024), (1024,)]), {"rows": {"x": "[x, -]"}}


def pallas_attention(jax, jnp):
    from jax.experimental.pallas.ops.gpu.attention import mha

    import meshwright

    rule = "b t n h, b s n h, b s n h -> b t n h {need_replication: t s h}"

    @meshwright.kernel(rule=rule)
    def attend(q, k, v):
        return mha(q, k, v, segment_ids=None, sm_scale=0.125, causal=True)

    def fn(q, k, v):
        if q.dtype == jnp.bfloat16:
            y = attend(q, k, v)
        else:
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True, scale=0.125)
        return y, -y

    inputs = normal(jax, jnp, [(8, 1024, 8, 64)] * 3)
    splits = {
        "batch": {name: "[x, -, -, -]" for name in "qkv"},
        "heads": {name: "[-, -, x, -]" for name in "qkv"},
    }
    return fn, inputs, splits


def solvers(jax, jnp):
    """cuSOLVER's calls, of a batch of matrices."""

    def fn(x):
        square = x @ x.mT + jnp.eye(x.shape[-1])
        lu, _, _ = jax.lax.linalg.lu(square)
        _, r = jnp.linalg.qr(x)
        return jnp.linalg.eigvalsh(square), lu, jnp.abs(r)

    return (
        fn,
        normal(jax, jnp, [(16, 64, 64)], jnp.float32),
        {"batch": {"x": "[x, -, -]"}},
    )


def cumsum(jax, jnp):
    """HLO's scan, on what newer versions of jax lower for GPUs."""

    def fn(x, g):
        out, back = jax.vjp(lambda x: jnp.cumsum(x, axis=1), x)
        return out, *back(g)

    inputs = normal(jax, jnp, [(64, 4096)] * 2, jnp.float32)
    return fn, inputs, {"rows": {"x": "[x, -]", "g": "[x, -]"}}


CASES = {
    "cumsum": cumsum,
    "solvers": solvers,
    "pallas_norm": pallas_norm,
    "pallas_attention": pallas_attention,
    "ragged": ragged,
}
