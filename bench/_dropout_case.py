"""cuDNN's attention with dropout, for kernel_shards.py: judged by statistics.

No shard drops what one device would. With equal scores and values of one, the output is
the share of what was kept, divided by its expectation: its mean stays 1. It is linear in
the values, so the products of output and its gradient, and of the values and theirs, are
equal if backward drops what forward dropped.
"""

import numpy as np
from _attention_cases import SHAPE, normal, splits

RATE = 0.5


def dropout(jax, jnp):
    def fn(q, k, v, g):
        from jax._src.cudnn import fused_attention_stablehlo as cudnn

        def attend(v):
            return cudnn.dot_product_attention(
                q, k, v, dropout_rate=RATE, seed=42, scale=SHAPE[-1] ** -0.5
            )

        out, back = jax.vjp(attend, v)
        return out, *back(g)

    (g,) = normal(jax, jnp, [SHAPE])
    zeros, ones = jnp.zeros(SHAPE, jnp.bfloat16), jnp.ones(SHAPE, jnp.bfloat16)
    return fn, [zeros, zeros, ones, g], splits("batch", "heads", "sequence"), judge


def judge(outputs, inputs, axis: int, devices: int) -> tuple[str, bool]:
    out, by_value = (np.asarray(one).astype(np.float64) for one in outputs)
    value, gradient = (np.asarray(one).astype(np.float64) for one in inputs[2:])
    products = (out * gradient).sum(), (by_value * value).sum()
    apart = abs(products[0] - products[1]) / np.linalg.norm(gradient)
    parts = np.split(out, devices, axis)
    alike = max(
        float((parts[a] == parts[b]).mean())
        for a in range(devices)
        for b in range(a + 1, devices)
    )
    text = f"mean {out.mean():.4f}, forward and backward {apart:.4f} apart, "
    text += f"shards alike {alike:.2f}"
    # Of shares of 512 with a deviation of 4 %, rounded to bf16, some are equal.
    return text, abs(out.mean() - 1) < 0.01 and apart < 0.02 and alike < 0.5
