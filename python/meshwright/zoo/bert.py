"""BERT: bidirectional encoder trained to fill in masked tokens."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.blocks import init_blocks, run_blocks
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    cross_entropy,
    dense,
    embed,
    gelu_mlp,
    init_attention,
    init_dense,
    init_mlp,
    init_norm,
    layer_norm,
    normal,
    self_attention,
)

_SEGMENTS = 2


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int
    width: int
    heads: int
    vocab: int
    seq: int
    predictions: int  # Masked positions per sequence.
    scan: bool = False
    remat: bool = False


def batch_fields(config: Config):
    sequence = (config.batch, config.seq)
    masked = (config.batch, config.predictions)
    return {
        "tokens": data.integers(sequence, below=config.vocab),
        "segments": data.integers(sequence, below=_SEGMENTS),
        "positions": data.integers(masked, below=config.seq),
        "targets": data.integers(masked, below=config.vocab),
    }


def init(key, config: Config):
    keys = jax.random.split(key, 5)
    params = {
        "tokens": normal(keys[0], (config.vocab, config.width)),
        "positions": normal(keys[1], (config.seq, config.width)),
        "segments": normal(keys[2], (_SEGMENTS, config.width)),
        "norm": init_norm(config.width),
        "blocks": init_blocks(
            lambda k: _init_block(k, config), keys[3], config.layers, scan=config.scan
        ),
        "head": {
            "dense": init_dense(keys[4], config.width, config.width),
            "norm": init_norm(config.width),
            "bias": jnp.zeros(config.vocab),
        },
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    def block(p, x):
        attended = self_attention(p["attention"], x, config.heads)
        x = layer_norm(p["norm1"], x + attended)
        return layer_norm(p["norm2"], x + gelu_mlp(p["mlp"], x))

    dtype = config.compute_dtype
    x = embed(params["tokens"], batch["tokens"], dtype)
    x = x + embed(params["segments"], batch["segments"], dtype)
    x = layer_norm(params["norm"], x + params["positions"].astype(dtype))
    x = run_blocks(block, params["blocks"], x, scan=config.scan, remat=config.remat)
    masked = jnp.take_along_axis(x, batch["positions"][..., None], axis=1, mode="clip")
    logits = _predict(params["head"], masked, params["tokens"])
    return cross_entropy(logits, batch["targets"]), stats


def _predict(head, x, table):
    """Scores over the vocabulary, computed with the input embedding."""
    x = layer_norm(head["norm"], jax.nn.gelu(dense(head["dense"], x)))
    logits = jnp.einsum("bpw,vw->bpv", x, table.astype(x.dtype))
    return logits + head["bias"].astype(x.dtype)


def _init_block(key, config: Config):
    attention, mlp = jax.random.split(key)
    return {
        "attention": init_attention(attention, config.width),
        "norm1": init_norm(config.width),
        "mlp": init_mlp(mlp, config.width, 4 * config.width),
        "norm2": init_norm(config.width),
    }
