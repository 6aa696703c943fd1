"""GPT: decoder-only language model with the architecture of GPT-2 and GPT-3.

Learned positions, pre-norm blocks, GELU, output embedding tied to the input embedding.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.blocks import init_blocks, run_blocks
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    causal_mask,
    cross_entropy,
    embed,
    gelu_mlp,
    init_attention,
    init_mlp,
    init_norm,
    layer_norm,
    normal,
    self_attention,
)


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int
    width: int
    heads: int
    vocab: int
    seq: int
    scan: bool = False
    remat: bool = False


def batch_fields(config: Config):
    shape = (config.batch, config.seq)
    return {
        "tokens": data.integers(shape, below=config.vocab),
        "targets": data.integers(shape, below=config.vocab),
    }


def init(key, config: Config):
    tokens, positions, blocks = jax.random.split(key, 3)
    params = {
        "tokens": normal(tokens, (config.vocab, config.width)),
        "positions": normal(positions, (config.seq, config.width)),
        "blocks": init_blocks(
            lambda k: _init_block(k, config), blocks, config.layers, scan=config.scan
        ),
        "norm": init_norm(config.width),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    mask = causal_mask(config.seq)

    def block(p, x):
        normed = layer_norm(p["norm1"], x)
        x = x + self_attention(p["attention"], normed, config.heads, mask)
        return x + gelu_mlp(p["mlp"], layer_norm(p["norm2"], x))

    x = embed(params["tokens"], batch["tokens"], config.compute_dtype)
    x = x + params["positions"].astype(x.dtype)
    x = run_blocks(block, params["blocks"], x, scan=config.scan, remat=config.remat)
    x = layer_norm(params["norm"], x)
    logits = jnp.einsum("bsw,vw->bsv", x, params["tokens"].astype(x.dtype))
    return cross_entropy(logits, batch["targets"]), stats


def _init_block(key, config: Config):
    attention, mlp = jax.random.split(key)
    residual_scale = 1 / math.sqrt(2 * config.layers)
    return {
        "norm1": init_norm(config.width),
        "attention": init_attention(attention, config.width, residual_scale),
        "norm2": init_norm(config.width),
        "mlp": init_mlp(mlp, config.width, 4 * config.width, residual_scale),
    }
