"""Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU.

Layers are one scan unless `scan` is off.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.blocks import init_blocks, run_blocks
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    attend,
    attend_in_blocks,
    causal_mask,
    cross_entropy,
    embed,
    normal,
)

_EPSILON = 1e-5
_ROTARY_BASE = 10000.0


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocab: int
    seq: int
    scan: bool = True
    remat: bool = False
    # "xla", "cudnn" (one kernel, for CUDA, in bf16) or "ring" (in blocks of keys).
    attention: str = "xla"
    blocks: int = 8  # In a ring.


def batch_fields(config: Config):
    shape = (config.batch, config.seq)
    return {
        "tokens": data.integers(shape, below=config.vocab),
        "targets": data.integers(shape, below=config.vocab),
    }


def init(key, config: Config):
    tokens, blocks, head = jax.random.split(key, 3)
    params = {
        "tokens": normal(tokens, (config.vocab, config.width)),
        "blocks": init_blocks(
            lambda k: _init_block(k, config), blocks, config.layers, scan=config.scan
        ),
        "norm": jnp.ones(config.width),
        "head": normal(head, (config.width, config.vocab)),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    mask = causal_mask(config.seq)
    rotation = _rotation(config.seq, config.width // config.heads)

    def block(p, x):
        normed = rms_norm(p["norm1"], x)
        x = x + _attention(p["attention"], normed, rotation, mask, config)
        return x + _swiglu(p["mlp"], rms_norm(p["norm2"], x))

    x = embed(params["tokens"], batch["tokens"], config.compute_dtype)
    x = run_blocks(block, params["blocks"], x, scan=config.scan, remat=config.remat)
    logits = _project(params["head"], rms_norm(params["norm"], x))
    return cross_entropy(logits, batch["targets"]), stats


def rms_norm(scale, x):
    wide = x.astype(jnp.float32)
    mean_square = jnp.mean(jnp.square(wide), axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(mean_square + _EPSILON) * scale).astype(x.dtype)


def rotate(x, rotation):
    """Rotates each pair (x[i], x[i + size/2]) by its position's angle."""
    cosine, sine = rotation
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turned = (first * cosine - second * sine, second * cosine + first * sine)
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)


def _rotation(length: int, size: int):
    frequencies = _ROTARY_BASE ** (-jnp.arange(0, size, 2) / size)
    angles = jnp.arange(length)[:, None, None] * frequencies
    return jnp.cos(angles), jnp.sin(angles)


def _attention(params, x, rotation, mask, config: Config):
    """Each key and value head serves a group of consecutive query heads."""
    q = jnp.einsum("bsw,whd->bshd", x, params["q"].astype(x.dtype))
    k = jnp.einsum("bsw,whd->bshd", x, params["k"].astype(x.dtype))
    v = jnp.einsum("bsw,whd->bshd", x, params["v"].astype(x.dtype))
    q, k = rotate(q, rotation), rotate(k, rotation)
    if config.attention == "cudnn":
        y = jax.nn.dot_product_attention(
            q, k, v, is_causal=True, implementation="cudnn"
        )
    else:
        group = q.shape[2] // k.shape[2]
        k, v = jnp.repeat(k, group, axis=2), jnp.repeat(v, group, axis=2)
        if config.attention == "ring":
            y = attend_in_blocks(q, k, v, config.blocks)
        else:
            y = attend(q, k, v, mask)
    return jnp.einsum("bshd,hdw->bsw", y, params["out"].astype(x.dtype))


def _swiglu(params, x):
    gate = jax.nn.silu(_project(params["gate"], x))
    return _project(params["down"], gate * _project(params["up"], x))


def _project(w, x):
    return x @ w.astype(x.dtype)


def _init_block(key, config: Config):
    keys = jax.random.split(key, 7)
    width, hidden, size = config.width, config.hidden, config.width // config.heads
    scale = 1 / math.sqrt(width)
    residual_scale = scale / math.sqrt(2 * config.layers)
    return {
        "norm1": jnp.ones(width),
        "attention": {
            "q": normal(keys[0], (width, config.heads, size), scale),
            "k": normal(keys[1], (width, config.kv_heads, size), scale),
            "v": normal(keys[2], (width, config.kv_heads, size), scale),
            "out": normal(keys[3], (config.heads, size, width), residual_scale),
        },
        "norm2": jnp.ones(width),
        "mlp": {
            "gate": normal(keys[4], (width, hidden), scale),
            "up": normal(keys[5], (width, hidden), scale),
            "down": normal(keys[6], (hidden, width), residual_scale),
        },
    }
