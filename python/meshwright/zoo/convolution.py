"""2-D convolution on [batch, height, width, channels] images."""

import math

import jax
import jax.numpy as jnp

from meshwright.zoo.layers import normal


def init_conv(key, size: int, inputs: int, outputs: int):
    stddev = math.sqrt(2 / (size * size * inputs))
    return normal(key, (size, size, inputs, outputs), stddev)


def conv(kernel, x, stride: int = 1):
    return jax.lax.conv_general_dilated(
        x,
        kernel.astype(x.dtype),
        window_strides=(stride, stride),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def init_biased_conv(key, size: int, inputs: int, outputs: int):
    return {"w": init_conv(key, size, inputs, outputs), "b": jnp.zeros(outputs)}


def biased_conv(params, x, stride: int = 1):
    return conv(params["w"], x, stride) + params["b"].astype(x.dtype)
