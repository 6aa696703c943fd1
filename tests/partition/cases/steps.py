"""Loops and what a training step does with its state."""

import jax
import jax.numpy as jnp
from case import (
    D8,
    NONE,
    all_gather,
    all_reduce,
    case,
    f32,
    reduce_scatter,
    size,
)
from jax import lax


def layers(x, weights):
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0]


def gradient_in_loop(w, batches):
    def body(total, x):
        return total + jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w), None

    return lax.scan(body, jnp.zeros_like(w), batches)[0]


def moment_of_layers(x, weights, moment):
    loss = lambda weights: jnp.sum(layers(x, weights))
    gradient = jax.grad(loss)(weights)
    return 0.9 * moment + 0.1 * gradient, gradient * gradient


def moments_of_kernel(images, kernel, first, second):
    layout = ("NHWC", "HWIO", "NHWC")
    conv = lambda k: lax.conv_general_dilated(
        images, k, (1, 1), "SAME", dimension_numbers=layout
    )
    gradient = jax.grad(lambda k: jnp.sum(jnp.tanh(conv(k))))(kernel)
    return 0.9 * first + 0.1 * gradient, 0.9 * second + gradient * gradient


def momentum(parameter, moment, gradient):
    moment = 0.9 * moment + 0.1 * gradient
    return parameter - 0.01 * moment, moment


def adam(parameter, first, second, gradient):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    return parameter - 0.01 * first / (jnp.sqrt(second) + 1e-8), first, second


def global_norm(a, b, c):
    return jnp.sqrt(jnp.sum(a * a) + jnp.sum(b * b) + jnp.sum(c * c))


SQUARE = f32(64, 64)
case(
    *("n48_layers", layers, [f32(16, 64), f32(4, 64, 64)], D8),
    *(["[-,-]", "[-,-,d]"], ["[-,-]"]),
    [all_gather("d", size(16, 8), count=4)],
)
case(
    *("n48_gradient_in_loop", gradient_in_loop, [SQUARE, f32(4, 64, 64)], D8),
    *(["[-,-]", "[-,d,-]"], ["[-,-]"]),
    [all_reduce("d", size(64, 64))],
)

# The stack of gradients, split as it is made.
case(
    *("n48_moment_of_layers", moment_of_layers),
    *([f32(16, 64), f32(4, 64, 64), f32(4, 64, 64)], D8),
    *(["[d,-]", "[-,-,-]", "[-,d,-]"], ["[-,d,-]", "[-,d,-]"]),
    [reduce_scatter("d", size(64, 64), count=4)],
    [reduce_scatter("d", size(4, 64, 64))],
)
# Neither moment would by itself gain from a part of the sum.
KERNEL = f32(3, 3, 8, 16)
case(
    *("n49_moments_of_kernel", moments_of_kernel),
    *([f32(8, 16, 16, 8), *[KERNEL] * 3], D8),
    *(["[d,-,-,-]", "[-,-,-,-]", *["[-,-,d,-]"] * 2], ["[-,-,d,-]"] * 2),
    [reduce_scatter("d", size(3, 3, 8, 16))],
)

case(
    *("n49_split_moments", momentum, [SQUARE] * 3, D8),
    *(["[-,-]", "[d,-]", "[-,-]"], ["[-,-]", "[d,-]"]),
    [all_gather("d", size(8, 64))],
)
case(
    *("n49_split_adam", adam, [SQUARE] * 4, D8, ["[d,-]"] * 4, ["[d,-]"] * 3),
    NONE,
)
case(
    *("n49_global_norm", global_norm, [SQUARE, f32(128), f32(32, 16)], D8),
    *(["[d,-]", "[d]", "[-,d]"], ["[]"]),
    [all_reduce("d", 4)],
    [all_reduce("d", 3 * 4)],
)
