"""Wide ResNet: bottleneck residual blocks with widened 3x3 convolutions.

The running mean and variance of batch norm are state without gradients.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.convolution import conv, init_conv
from meshwright.zoo.layers import cross_entropy, dense, init_dense, init_norm

_CHANNELS = 3
_EXPANSION = 4
_MOMENTUM = 0.9
_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    stages: tuple[int, ...]  # Blocks per stage; each stage halves the image.
    channels: int
    width_factor: int
    image: int
    classes: int


def batch_fields(config: Config):
    image = (config.batch, config.image, config.image, _CHANNELS)
    return {
        "images": data.floats(image),
        "labels": data.integers((config.batch,), below=config.classes),
    }


def init(key, config: Config):
    stem, blocks_key, head = jax.random.split(key, 3)
    plan = _plan(config)
    keys = jax.random.split(blocks_key, len(plan))
    features = plan[-1][1] * _EXPANSION
    params = {
        "stem": {
            "conv": init_conv(stem, 7, _CHANNELS, config.channels),
            "norm": init_norm(config.channels),
        },
        "blocks": [
            _init_block(k, inputs, filters, config.width_factor)
            for k, (inputs, filters, _) in zip(keys, plan, strict=True)
        ],
        "head": init_dense(head, features, config.classes),
    }
    stats = jax.tree_util.tree_map(
        _init_stats,
        {"stem": params["stem"], "blocks": params["blocks"]},
        is_leaf=_is_unit,
    )
    return params, stats


def loss_fn(params, stats, batch, config: Config):
    images = batch["images"].astype(config.compute_dtype)
    x, stem_stats = _unit(params["stem"], stats["stem"], images, stride=2)
    x = _max_pool(jax.nn.relu(x))
    block_stats = []
    for p, s, (_, _, stride) in zip(
        params["blocks"], stats["blocks"], _plan(config), strict=True
    ):
        x, new_stats = _block(p, s, x, stride)
        block_stats.append(new_stats)
    logits = dense(params["head"], x.mean(axis=(1, 2)))
    new_stats = {"stem": stem_stats, "blocks": block_stats}
    return cross_entropy(logits, batch["labels"]), new_stats


def batch_norm(params, stats, x):
    """Normalises with the batch's own statistics; also returns the running ones."""
    wide = x.astype(jnp.float32)
    mean = wide.mean(axis=(0, 1, 2))
    variance = jnp.square(wide - mean).mean(axis=(0, 1, 2))
    y = (wide - mean) * jax.lax.rsqrt(variance + _EPSILON)
    y = (y * params["scale"] + params["bias"]).astype(x.dtype)
    batch_stats = {"mean": mean, "variance": variance}
    return y, jax.tree_util.tree_map(
        lambda old, new: _MOMENTUM * old + (1 - _MOMENTUM) * new, stats, batch_stats
    )


def _plan(config: Config) -> list[tuple[int, int, int]]:
    """Input channels, filters and stride of each block."""
    plan, inputs = [], config.channels
    for stage, count in enumerate(config.stages):
        filters = config.channels * 2**stage
        for index in range(count):
            plan.append((inputs, filters, 2 if stage and not index else 1))
            inputs = filters * _EXPANSION
    return plan


def _block(params, stats, x, stride: int):
    """Three convolutions, and a projection if the shape changes."""
    new = {}
    y, new["narrow"] = _unit(params["narrow"], stats["narrow"], x)
    y = jax.nn.relu(y)
    y, new["wide"] = _unit(params["wide"], stats["wide"], y, stride)
    y = jax.nn.relu(y)
    y, new["out"] = _unit(params["out"], stats["out"], y)
    if "skip" in params:
        x, new["skip"] = _unit(params["skip"], stats["skip"], x, stride)
    return jax.nn.relu(x + y), new


def _unit(params, stats, x, stride: int = 1):
    return batch_norm(params["norm"], stats, conv(params["conv"], x, stride))


def _max_pool(x):
    window, strides = (1, 3, 3, 1), (1, 2, 2, 1)
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, "SAME")


def _init_block(key, inputs: int, filters: int, width_factor: int):
    keys = jax.random.split(key, 4)
    outputs = filters * _EXPANSION
    block = {
        "narrow": _init_unit(keys[0], 1, inputs, filters),
        "wide": _init_unit(keys[1], 3, filters, filters * width_factor),
        "out": _init_unit(keys[2], 1, filters * width_factor, outputs),
    }
    if inputs != outputs:
        block["skip"] = _init_unit(keys[3], 1, inputs, outputs)
    return block


def _init_unit(key, size: int, inputs: int, outputs: int):
    return {"conv": init_conv(key, size, inputs, outputs), "norm": init_norm(outputs)}


def _is_unit(tree) -> bool:
    return isinstance(tree, dict) and "norm" in tree


def _init_stats(unit):
    scale = unit["norm"]["scale"]
    return {"mean": jnp.zeros_like(scale), "variance": jnp.ones_like(scale)}
