"""An encoder-decoder transformer, as a model of the zoo: what translates.

Every block of the decoder reads what the last block of the encoder made.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from meshwright.zoo import data
from meshwright.zoo.blocks import init_blocks
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    attend,
    causal_mask,
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


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int  # Of the encoder, and of the decoder.
    width: int
    heads: int
    vocab: int
    seq: int


def batch_fields(config: Config):
    sequence = (config.batch, config.seq)
    return {
        name: data.integers(sequence, below=config.vocab)
        for name in ("source", "tokens", "targets")
    }


def init(key, config: Config):
    keys = jax.random.split(key, 4)
    width = config.width

    def encoder(k):
        attention, mlp = jax.random.split(k)
        return {
            "norms": [init_norm(width) for _ in range(2)],
            "attention": init_attention(attention, width),
            "mlp": init_mlp(mlp, width, 4 * width),
        }

    def decoder(k):
        attention, mlp, *cross = jax.random.split(k, 6)
        names = ("query", "key", "value", "out")
        return {
            "norms": [init_norm(width) for _ in range(3)],
            "attention": init_attention(attention, width),
            "mlp": init_mlp(mlp, width, 4 * width),
            "cross": {
                name: init_dense(k, width, width)
                for name, k in zip(names, cross, strict=True)
            },
        }

    params = {
        "source": normal(keys[0], (config.vocab, width)),
        "target": normal(keys[1], (config.vocab, width)),
        "encoder": init_blocks(encoder, keys[2], config.layers, scan=False),
        "decoder": init_blocks(decoder, keys[3], config.layers, scan=False),
        "norm": init_norm(width),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    dtype = config.compute_dtype
    memory = embed(params["source"], batch["source"], dtype)
    for p in params["encoder"]:
        norms = p["norms"]
        memory += self_attention(
            p["attention"], layer_norm(norms[0], memory), config.heads
        )
        memory += gelu_mlp(p["mlp"], layer_norm(norms[1], memory))
    mask = causal_mask(config.seq)
    x = embed(params["target"], batch["tokens"], dtype)
    for p in params["decoder"]:
        norms = p["norms"]
        x += self_attention(p["attention"], layer_norm(norms[0], x), config.heads, mask)
        x += _cross_attention(p["cross"], layer_norm(norms[1], x), memory, config.heads)
        x += gelu_mlp(p["mlp"], layer_norm(norms[2], x))
    x = layer_norm(params["norm"], x)
    logits = jnp.einsum("bsw,vw->bsv", x, params["target"].astype(dtype))
    return cross_entropy(logits, batch["targets"]), stats


def _cross_attention(params, x, memory, heads: int):
    def split(name, y):
        return dense(params[name], y).reshape(*y.shape[:2], heads, -1)

    mixed = attend(split("query", x), split("key", memory), split("value", memory))
    return dense(params["out"], mixed.reshape(x.shape))
