"""Convolutions and pooling."""

import jax
import jax.numpy as jnp
from case import (
    D8,
    NONE,
    all_reduce,
    case,
    f32,
    permute,
    size,
)
from jax import lax

NHWC = ("NHWC", "HWIO", "NHWC")


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=NHWC)


def convolve_depthwise(x, kernel):
    return lax.conv_general_dilated(
        x,
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=NHWC,
        feature_group_count=x.shape[-1],
    )


def convolve_patches(x, kernel):
    return lax.conv_general_dilated(x, kernel, (4, 4), "VALID", dimension_numbers=NHWC)


def kernel_gradient(x, kernel, dy):
    return jax.vjp(lambda kernel: convolve(x, kernel), kernel)[1](dy)[0]


def depthwise_kernel_gradient(x, kernel, dy):
    return jax.vjp(lambda kernel: convolve_depthwise(x, kernel), kernel)[1](dy)[0]


def pool(size, stride):
    def max_pool(x):
        return lax.reduce_window(
            x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), "SAME"
        )

    return max_pool


def pool_gradient(size, stride):
    def gradient(x, dy):
        return jax.vjp(pool(size, stride), x)[1](dy)[0]

    return gradient


IMAGES = f32(8, 32, 8, 16)
KERNEL = f32(3, 3, 16, 16)
CONV = [IMAGES, KERNEL]
ROW = size(8, 1, 8, 16)
BATCH, HEIGHT, FEATURES = "[d,-,-,-]", "[-,d,-,-]", "[-,-,-,d]"
WHOLE, IN, OUT = "[-,-,-,-]", "[-,-,d,-]", "[-,-,-,d]"

case("n40_conv_batch", convolve, CONV, D8, [BATCH, WHOLE], [BATCH], NONE)
case("n40_conv_out_features", convolve, CONV, D8, [WHOLE, OUT], [FEATURES], NONE)
case(
    *("n40_conv_in_features", convolve, CONV, D8, [FEATURES, IN], [WHOLE]),
    [all_reduce("d", size(8, 32, 8, 16))],
)
case(
    *("n40_conv_height", convolve, CONV, D8, [HEIGHT, WHOLE], [HEIGHT]),
    [permute(ROW, count=2)],
    large=True,
)

GRADIENT = [IMAGES, KERNEL, IMAGES]
case(
    *("n41_kernel_batch", kernel_gradient, GRADIENT, D8, [BATCH, WHOLE, BATCH]),
    [WHOLE],
    [all_reduce("d", size(3, 3, 16, 16))],
)
case(
    *("n41_kernel_height", kernel_gradient, GRADIENT, D8, [HEIGHT, WHOLE, HEIGHT]),
    [WHOLE],
    [permute(ROW, count=2), all_reduce("d", size(3, 3, 16, 16))],
    large=True,
)
case(
    *("n41_kernel_depthwise", depthwise_kernel_gradient),
    *([IMAGES, f32(3, 3, 1, 16), IMAGES], D8, [FEATURES, OUT, FEATURES], [OUT]),
    NONE,
)

case(
    *("n42_patches", convolve_patches, [IMAGES, f32(4, 4, 16, 16)], D8),
    *([HEIGHT, WHOLE], [HEIGHT]),
    NONE,
)
case("n42_pool_aligned", pool(2, 2), [IMAGES], D8, [HEIGHT], [HEIGHT], NONE)
case(
    *("n42_pool_overlapping", pool(3, 2), [IMAGES], D8, [HEIGHT], [HEIGHT]),
    [permute(ROW)],
    large=True,
)
case(
    *("n42_pool_gradient", pool_gradient(3, 2), [IMAGES, f32(8, 16, 4, 16)], D8),
    *([HEIGHT, HEIGHT], [HEIGHT]),
    # jax pads 32 x 8 to 33 x 9 and cuts the gradient back to 32 x 8: 33 rows lie in
    # parts of 5, so rows move before and after, and with them parts of two.
    [
        *(permute(4 * ROW, count=2), permute(2 * ROW, count=2)),
        permute(size(8, 2, 9, 16), count=2),
        *(permute(size(8, 2, 4, 16)), permute(size(8, 1, 4, 16))),
    ],
    large=True,
)
