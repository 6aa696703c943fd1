"""Building blocks shared by the models: plain functions on dictionaries of arrays.

    params = init_dense(key, 64, 256)      # {"w": f32[64, 256], "b": f32[256]}
    y = dense(params, x)                   # in the dtype of x

Weights are f32 and are cast to the dtype of the activations when they are used.
"""

import math

import jax
import jax.numpy as jnp

EMBEDDING_STDDEV = 0.02
_NORM_EPSILON = 1e-5


def normal(key, shape, stddev=EMBEDDING_STDDEV):
    return stddev * jax.random.normal(key, shape, jnp.float32)


def init_dense(key, inputs: int, outputs: int, scale=1.0):
    """Weights that keep the variance of their inputs, times `scale` squared."""
    stddev = scale / math.sqrt(inputs)
    return {"w": normal(key, (inputs, outputs), stddev), "b": jnp.zeros(outputs)}


def dense(params, x):
    y = x @ params["w"].astype(x.dtype)
    return y + params["b"].astype(x.dtype)


def init_norm(width: int):
    return {"scale": jnp.ones(width), "bias": jnp.zeros(width)}


def layer_norm(params, x):
    """Over the last dimension, in f32."""
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    y = centred * jax.lax.rsqrt(variance + _NORM_EPSILON)
    return (y * params["scale"] + params["bias"]).astype(x.dtype)


def embed(table, ids, dtype):
    """Rows of `table`; ids out of range are clipped."""
    return jnp.take(table.astype(dtype), ids, axis=0, mode="clip")


def attend(q, k, v, mask=None):
    """Softmax attention. q: [batch, queries, heads, size]; k, v: [batch, keys, ...].

    `mask`: [queries, keys], True for keys that a query attends to.
    """
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    scores = scores.astype(jnp.float32)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def attend_in_blocks(q, k, v, blocks: int):
    """Causal attention, one block of keys after the other, like a device of ring
    attention.

    Only the scores of one block are in memory at a time, also in the backward pass.
    """
    batch, length, heads, size = q.shape
    keys = length // blocks
    if keys * blocks != length:
        raise ValueError(f"a sequence of {length} does not divide into {blocks} blocks")
    places = jnp.arange(length)

    @jax.checkpoint
    def step(carry, block):
        out, total, largest = carry
        first, k, v = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(size)
        seen = places[:, None] >= first + jnp.arange(keys)
        scores = jnp.where(seen, scores.astype(jnp.float32), -jnp.inf)
        new = jnp.maximum(largest, scores.max(axis=-1))
        weights = jnp.exp(scores - new[..., None])
        kept = jnp.exp(largest - new)
        out = out * kept[..., None]
        out += jnp.einsum("bhqk,bkhd->bhqd", weights.astype(v.dtype), v)
        return (out, total * kept + weights.sum(axis=-1), new), None

    def in_blocks(x):
        return jnp.moveaxis(x.reshape(batch, blocks, keys, *x.shape[2:]), 1, 0)

    shape = (batch, heads, length)
    start = (
        jnp.zeros((*shape, v.shape[-1])),
        jnp.zeros(shape),
        jnp.full(shape, jnp.finfo(jnp.float32).min),
    )
    firsts = jnp.arange(blocks) * keys
    (out, total, _), _ = jax.lax.scan(step, start, (firsts, in_blocks(k), in_blocks(v)))
    return jnp.swapaxes(out / total[..., None], 1, 2).astype(q.dtype)


def causal_mask(length: int):
    return jnp.tril(jnp.ones((length, length), bool))


def init_attention(key, width: int, out_scale=1.0):
    qkv, out = jax.random.split(key)
    return {
        "qkv": init_dense(qkv, width, 3 * width),
        "out": init_dense(out, width, width, out_scale),
    }


def self_attention(params, x, heads: int, mask=None):
    """Multi-head attention with one projection for queries, keys and values.

    The projection's columns are ordered by head, then q/k/v, so that an even split
    never splits a head.
    """
    batch, length, width = x.shape
    qkv = dense(params["qkv"], x).reshape(batch, length, heads, 3, width // heads)
    q, k, v = (qkv[..., i, :] for i in range(3))
    return dense(params["out"], attend(q, k, v, mask).reshape(x.shape))


def init_mlp(key, width: int, hidden: int, out_scale=1.0):
    up, down = jax.random.split(key)
    return {
        "up": init_dense(up, width, hidden),
        "down": init_dense(down, hidden, width, out_scale),
    }


def gelu_mlp(params, x):
    return dense(params["down"], jax.nn.gelu(dense(params["up"], x)))


def cross_entropy(logits, labels):
    """Mean negative log likelihood, in f32.

    Selects the label's logit by comparison and sum, so that the class dimension can be
    sharded.
    """
    logits = logits.astype(jnp.float32)
    classes = jnp.arange(logits.shape[-1])
    chosen = jnp.where(classes == labels[..., None], logits, 0.0).sum(axis=-1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)
