"""Ring attention by hand, for shard_map: cuDNN's kernel on a split sequence.

As a user would write it around JAX's primitives: forward keeps the log-sum-exp, backward
calls the kernel's own backward for each block, gradients of keys and values go round.
"""

import functools

import jax
import jax.numpy as jnp
from jax._src.cudnn import fused_attention_stablehlo as cudnn


def ring_attention(axis: str, devices: int):
    """(q, k, v) -> out, all [batch, sequence / devices, heads, size], causal."""
    pairs = [(i, (i + 1) % devices) for i in range(devices)]
    send = functools.partial(jax.lax.ppermute, axis_name=axis, perm=pairs)
    masks = cudnn.MaskType

    def block(q, k, v, mask):
        scale = q.shape[-1] ** -0.5
        return cudnn.dot_product_attention(
            q, k, v, scale=scale, mask_type=mask, return_residual=True
        )

    def block_back(q, k, v, total, out, gradient, mask):
        none = jnp.zeros(0, q.dtype)
        return cudnn._dot_product_attention_bwd_p_wrapper.bind(
            *(q, k, v, none, none, none, none, none, none, none, total, out, gradient),
            scale=q.shape[-1] ** -0.5,
            seed=42,
            dropout_rate=0.0,
            variadic_args=(False, False),
            mask_type=mask,
            layout=0,
            sliding_window_length=None,
        )

    def by_query(weight):  # [b, n, t] -> [b, t, n, 1]
        return jnp.swapaxes(weight, 1, 2)[..., None]

    def forward(q, k, v):
        me = jax.lax.axis_index(axis)
        kept = q, k, v
        out, total = block(q, k, v, masks.CAUSAL)
        out = out.astype(jnp.float32)
        for step in range(1, devices):
            k, v = send(k), send(v)
            part, sums = block(q, k, v, masks.NO_MASK)
            sums = jnp.where(me >= step, sums, -jnp.inf)
            both = jnp.logaddexp(total, sums)
            out = out * by_query(jnp.exp(total - both))
            out += part.astype(jnp.float32) * by_query(jnp.exp(sums - both))
            total = both
        out = out.astype(q.dtype)
        return out, (*kept, total, out)

    def backward(kept, gradient):
        q, k, v, total, out = kept
        me = jax.lax.axis_index(axis)
        sums = block_back(q, k, v, total, out, gradient, masks.CAUSAL)
        dq, dk, dv = (one.astype(jnp.float32) for one in sums)
        for step in range(1, devices):
            k, v, dk, dv = send(k), send(v), send(dk), send(dv)
            parts = block_back(q, k, v, total, out, gradient, masks.NO_MASK)
            parts = [jnp.where(me >= step, one, 0).astype(jnp.float32) for one in parts]
            dq, dk, dv = dq + parts[0], dk + parts[1], dv + parts[2]
        dk, dv = send(dk), send(dv)
        return dq.astype(q.dtype), dk.astype(k.dtype), dv.astype(v.dtype)

    attend = jax.custom_vjp(lambda q, k, v: forward(q, k, v)[0])
    attend.defvjp(forward, backward)
    return attend
