"""ViT: an image as a sequence of patches, a class token, a transformer encoder."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.blocks import init_blocks, run_blocks
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    cross_entropy,
    dense,
    gelu_mlp,
    init_attention,
    init_dense,
    init_mlp,
    init_norm,
    layer_norm,
    normal,
    self_attention,
)

_CHANNELS = 3


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int
    width: int
    heads: int
    patch: int
    image: int
    classes: int
    scan: bool = False
    remat: bool = False


def batch_fields(config: Config):
    image = (config.batch, config.image, config.image, _CHANNELS)
    return {
        "images": data.floats(image),
        "labels": data.integers((config.batch,), below=config.classes),
    }


def init(key, config: Config):
    patches, token, positions, blocks, head = jax.random.split(key, 5)
    count = (config.image // config.patch) ** 2
    inputs = config.patch**2 * _CHANNELS
    params = {
        "patches": init_dense(patches, inputs, config.width),
        "class_token": normal(token, (config.width,)),
        "positions": normal(positions, (count + 1, config.width)),
        "blocks": init_blocks(
            lambda k: _init_block(k, config), blocks, config.layers, scan=config.scan
        ),
        "norm": init_norm(config.width),
        "head": init_dense(head, config.width, config.classes),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    def block(p, x):
        normed = layer_norm(p["norm1"], x)
        x = x + self_attention(p["attention"], normed, config.heads)
        return x + gelu_mlp(p["mlp"], layer_norm(p["norm2"], x))

    images = batch["images"].astype(config.compute_dtype)
    x = dense(params["patches"], _cut_patches(images, config.patch))
    token = params["class_token"].astype(x.dtype)
    token = jnp.broadcast_to(token, (config.batch, 1, config.width))
    x = jnp.concatenate([token, x], axis=1) + params["positions"].astype(x.dtype)
    x = run_blocks(block, params["blocks"], x, scan=config.scan, remat=config.remat)
    logits = dense(params["head"], layer_norm(params["norm"], x[:, 0]))
    return cross_entropy(logits, batch["labels"]), stats


def _cut_patches(images, patch: int):
    """[batch, height, width, channels] -> [batch, patches, values of a patch]."""
    batch, height, width, channels = images.shape
    rows, columns = height // patch, width // patch
    grid = images.reshape(batch, rows, patch, columns, patch, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, rows * columns, -1)


def _init_block(key, config: Config):
    attention, mlp = jax.random.split(key)
    return {
        "norm1": init_norm(config.width),
        "attention": init_attention(attention, config.width),
        "norm2": init_norm(config.width),
        "mlp": init_mlp(mlp, config.width, 4 * config.width),
    }
