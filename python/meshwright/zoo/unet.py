"""U-Net that predicts the noise in an image, as diffusion models train it.

Each level of the encoder halves the image, and the decoder doubles it again; the
decoder concatenates the outputs of the encoder's blocks. Shapes follow DDPM.
"""

import itertools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.convolution import biased_conv, init_biased_conv
from meshwright.zoo.layers import (
    dense,
    init_attention,
    init_dense,
    init_norm,
    self_attention,
)

_CHANNELS = 3
_TIMES = 1000
_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    channels: int
    multipliers: tuple[int, ...]  # Channels of each level, in units of `channels`.
    attention: tuple[int, ...]  # Levels with self-attention.
    depth: int  # Residual blocks per level.
    groups: int
    image: int


def batch_fields(config: Config):
    image = (config.batch, config.image, config.image, _CHANNELS)
    return {
        "images": data.floats(image),
        "noise": data.floats(image),
        "times": data.integers((config.batch,), below=_TIMES),
    }


def init(key, config: Config):
    keys = (jax.random.fold_in(key, i) for i in itertools.count())
    widths = [config.channels * m for m in config.multipliers]
    embedding = 4 * config.channels
    last = len(widths) - 1

    def level(index: int, inputs: list[int]):
        """Residual blocks with the given input channels, with attention if the level
        has it."""
        return [
            _init_block(keys, n, widths[index], embedding, index in config.attention)
            for n in inputs
        ]

    down, made, x = [], [config.channels], config.channels
    for index, width in enumerate(widths):
        stage = {"blocks": level(index, [x] + [width] * (config.depth - 1))}
        made += [width] * config.depth
        if index < last:
            stage["resize"] = init_biased_conv(next(keys), 3, width, width)
            made.append(width)
        down.append(stage)
        x = width
    middle = [
        _init_block(keys, x, x, embedding, attention) for attention in (True, False)
    ]
    up = []
    for index, width in reversed(list(enumerate(widths))):
        inputs = [made.pop() + n for n in [x] + [width] * config.depth]
        stage = {"blocks": level(index, inputs)}
        if index:
            stage["resize"] = init_biased_conv(next(keys), 3, width, width)
        up.append(stage)
        x = width
    params = {
        "time1": init_dense(next(keys), config.channels, embedding),
        "time2": init_dense(next(keys), embedding, embedding),
        "stem": init_biased_conv(next(keys), 3, _CHANNELS, config.channels),
        "down": down,
        "middle": middle,
        "up": up,
        "norm": init_norm(config.channels),
        "head": init_biased_conv(next(keys), 3, config.channels, _CHANNELS),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    level = jnp.cos(batch["times"] / _TIMES * (math.pi / 2))[:, None, None, None]
    noisy = level * batch["images"] + jnp.sqrt(1 - level**2) * batch["noise"]
    predicted = predict_noise(params, noisy, batch["times"], config)
    error = predicted.astype(jnp.float32) - batch["noise"]
    return jnp.mean(jnp.square(error)), stats


def predict_noise(params, noisy, times, config: Config):
    dtype, groups = config.compute_dtype, config.groups
    time = _time_features(times, config.channels).astype(dtype)
    time = jax.nn.silu(dense(params["time1"], time))
    time = jax.nn.silu(dense(params["time2"], time))
    x = biased_conv(params["stem"], noisy.astype(dtype))
    made = [x]
    for stage in params["down"]:
        for block in stage["blocks"]:
            x = _block(block, x, time, groups)
            made.append(x)
        if "resize" in stage:
            x = biased_conv(stage["resize"], x, stride=2)
            made.append(x)
    for block in params["middle"]:
        x = _block(block, x, time, groups)
    for stage in params["up"]:
        for block in stage["blocks"]:
            x = _block(block, jnp.concatenate([x, made.pop()], -1), time, groups)
        if "resize" in stage:
            x = biased_conv(stage["resize"], _double(x))
    x = jax.nn.silu(group_norm(params["norm"], x, groups))
    return biased_conv(params["head"], x)


def group_norm(params, x, groups: int):
    """Normalises over the image and the channels of each group, in f32."""
    grouped = x.astype(jnp.float32).reshape(*x.shape[:-1], groups, -1)
    centred = grouped - grouped.mean(axis=(1, 2, 4), keepdims=True)
    variance = jnp.square(centred).mean(axis=(1, 2, 4), keepdims=True)
    y = (centred * jax.lax.rsqrt(variance + _EPSILON)).reshape(x.shape)
    return (y * params["scale"] + params["bias"]).astype(x.dtype)


def _block(params, x, time, groups: int):
    """Two convolutions conditioned on the time, then attention if the level has it."""
    y = jax.nn.silu(group_norm(params["norm1"], x, groups))
    y = biased_conv(params["conv1"], y) + dense(params["time"], time)[:, None, None]
    y = jax.nn.silu(group_norm(params["norm2"], y, groups))
    y = biased_conv(params["conv2"], y)
    x = y + (biased_conv(params["skip"], x) if "skip" in params else x)
    if "attention" not in params:
        return x
    normed = group_norm(params["norm3"], x, groups)
    pixels = normed.reshape(x.shape[0], -1, x.shape[-1])
    return x + self_attention(params["attention"], pixels, heads=1).reshape(x.shape)


def _time_features(times, size: int):
    frequencies = jnp.exp(-math.log(10000) * jnp.arange(size // 2) / (size // 2))
    angles = times[:, None] * frequencies
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


def _double(x):
    """Nearest-neighbour upsampling."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def _init_block(keys, inputs: int, outputs: int, embedding: int, attention: bool):
    block = {
        "norm1": init_norm(inputs),
        "conv1": init_biased_conv(next(keys), 3, inputs, outputs),
        "time": init_dense(next(keys), embedding, outputs),
        "norm2": init_norm(outputs),
        "conv2": init_biased_conv(next(keys), 3, outputs, outputs),
    }
    if inputs != outputs:
        block["skip"] = init_biased_conv(next(keys), 1, inputs, outputs)
    if attention:
        block["norm3"] = init_norm(outputs)
        block["attention"] = init_attention(next(keys), outputs)
    return block
