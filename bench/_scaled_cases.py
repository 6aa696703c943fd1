"""Products of 8-bit floats with a scale for every block, for kernel_shards.py."""

import numpy as np
from _attention_cases import normal

BLOCK = 32
BATCH, ROWS, COLUMNS, DEPTH = 8, 512, 512, 1024


def _scales(jax, jnp, shape):
    powers = np.random.default_rng(3).integers(-2, 3, shape)
    return jnp.asarray(2.0**powers, jnp.float8_e8m0fnu)


def _plain(jnp, x, scale, axis: int):
    return x * jnp.repeat(scale.astype(jnp.float32), BLOCK, axis)


def _splits(sums: str, w: str, w_scale: str):
    return {
        "batch": {name: "[x, -, -]" for name in ("x", "w", "x_scale", "w_scale")},
        "rows": {"x": "[-, x, -]", "x_scale": "[-, x, -]"},
        sums: {"x": "[-, -, x]", "x_scale": "[-, -, x]", "w": w, "w_scale": w_scale},
    }


def scaled_matmul(jax, jnp):
    """XLA's custom call, of two matrices that are contracted along their last dimension."""

    def fn(x, w, x_scale, w_scale):
        if x.dtype == jnp.float32:
            x, w = _plain(jnp, x, x_scale, 2), _plain(jnp, w, w_scale, 2)
            y = jnp.einsum("bmk,bnk->bmn", x, w)
        else:
            y = jax.nn.scaled_matmul(x, w, x_scale, w_scale)
        return y, -y

    shapes = [(BATCH, ROWS, DEPTH), (BATCH, COLUMNS, DEPTH)]
    inputs = normal(jax, jnp, shapes, jnp.float8_e4m3fn)
    inputs += [_scales(jax, jnp, (b, n, DEPTH // BLOCK)) for b, n, _ in shapes]
    return fn, inputs, _splits("contracted", "[-, -, x]", "[-, -, x]")


def scaled_dot(jax, jnp):
    """HLO's own."""

    def fn(x, w, x_scale, w_scale):
        if x.dtype == jnp.float32:
            x, w = _plain(jnp, x, x_scale, 2), _plain(jnp, w, w_scale, 1)
            y = jnp.einsum("bmk,bkn->bmn", x, w)
        else:
            y = jax.lax.scaled_dot(
                x,
                w,
                lhs_scale=x_scale,
                rhs_scale=w_scale,
                dimension_numbers=(((2,), (1,)), ((0,), (0,))),
                preferred_element_type=jnp.float32,
            )
        return y, -y

    shapes = [(BATCH, ROWS, DEPTH), (BATCH, DEPTH, COLUMNS)]
    inputs = normal(jax, jnp, shapes, jnp.float8_e4m3fn)
    inputs.append(_scales(jax, jnp, (BATCH, ROWS, DEPTH // BLOCK)))
    inputs.append(_scales(jax, jnp, (BATCH, DEPTH // BLOCK, COLUMNS)))
    return fn, inputs, _splits("contracted", "[-, x, -]", "[-, x, -]")


CASES = {"scaled_matmul": scaled_matmul, "scaled_dot": scaled_dot}
