"""Reductions, normalisations and losses over a split dimension."""

import jax
import jax.numpy as jnp
from case import (
    D8,
    NONE,
    all_gather,
    all_reduce,
    case,
    f32,
    s32,
    size,
)
from jax import lax


def summed(x):
    return jnp.sum(x, axis=0)


def largest(x):
    return jnp.max(x, axis=0)


def product(x):
    return jnp.prod(1 + x, axis=0)


def all_positive(x):
    return jnp.all(x > -0.015, axis=0)


def arg_max_with_ties(x):
    place = jnp.arange(64)
    tied = (place == 5) | (place == 40) | (place == 63)
    return jnp.argmax(jnp.where(tied, 1.0, x))


def arg_max(x):
    return jnp.argmax(x, axis=-1)


def sum_and_max(x, y):
    def combine(a, b):
        return a[0] + b[0], jnp.maximum(a[1], b[1])

    return lax.reduce((x, y), (0.0, -jnp.inf), combine, (0,))


def softmax(x):
    return jax.nn.softmax(x)


def logsumexp(x):
    return jax.nn.logsumexp(x, axis=-1)


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def cross_entropy_gradient(logits, labels):
    return jax.grad(cross_entropy)(logits, labels)


def layer_norm_two_pass(x):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5)


def layer_norm_moments(x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(x * x, axis=-1, keepdims=True) - mean * mean
    return (x - mean) * lax.rsqrt(variance + 1e-5)


def batch_norm(x):
    centred = x - jnp.mean(x, axis=0)
    return centred * lax.rsqrt(jnp.var(x, axis=0) + 1e-5)


def running_sum(x):
    return lax.reduce_window(x, 0.0, lax.add, (64,), (1,), [(63, 0)])


def dot(a, b):
    return a @ b


for name, function, width in (
    ("sum", summed, 4),
    ("max", largest, 4),
    ("product", product, 4),
    ("and", all_positive, 1),
):
    case(
        *(f"n12_{name}", function, [f32(64, 32)], D8, ["[d,-]"], ["[-]"]),
        [all_reduce("d", 32 * width)],
    )

TWO_SCALARS = [all_gather("d", 4, count=2)]
case(
    *("n13_arg_max_ties", arg_max_with_ties, [f32(64)], D8, ["[d]"], ["[]"]),
    TWO_SCALARS,
)
case(
    *("n14_sum_and_max", sum_and_max, [f32(64, 32)] * 2, D8, ["[d,-]"] * 2),
    ["[-]", "[-]"],
    [all_reduce("d", size(32), count=2)],
)

ROWS = f32(16, 64)
TWO_ROWS = [all_reduce("d", size(16), count=2)]
case("n15_softmax", softmax, [ROWS], D8, ["[-,d]"], ["[-,d]"], TWO_ROWS)
case("n15_logsumexp", logsumexp, [ROWS], D8, ["[-,d]"], ["[-]"], TWO_ROWS)

LOGITS = [ROWS, s32(16)]
case(
    *("n16_cross_entropy", cross_entropy, LOGITS, D8, ["[-,d]", "[-]"], ["[]"]),
    [all_reduce("d", size(16), count=3)],
    # The sum and the label's logit together.
    [all_reduce("d", size(16)), all_reduce("d", size(2, 16))],
)
case(
    *("n16_cross_entropy_gradient", cross_entropy_gradient, LOGITS, D8),
    *(["[-,d]", "[-]"], ["[-,d]"]),
    TWO_ROWS,
)

case(
    *("n17_layer_norm_two_pass", layer_norm_two_pass, [ROWS], D8),
    *(["[-,d]"], ["[-,d]"]),
    TWO_ROWS,
)
case(
    *("n17_layer_norm_moments", layer_norm_moments, [ROWS], D8),
    *(["[-,d]"], ["[-,d]"]),
    [all_reduce("d", size(2, 16))],
)
case(
    *("n18_batch_norm", batch_norm, [f32(64, 16)], D8, ["[d,-]"], ["[d,-]"]),
    TWO_ROWS,
    [all_reduce("d", size(16), count=3)],
)

case(
    *("n44_running_sum", running_sum, [f32(64)], D8, ["[d]"], ["[d]"]),
    [all_gather("d", size(1))],
)

# Shards of 8, the last one half padding, which is NaN.
case(
    *("n50_uneven_sum", summed, [f32(60, 32)], D8, ["[d,-]"], ["[-]"]),
    [all_reduce("d", size(32))],
)
case(
    *("n50_uneven_dot", dot, [f32(32, 60), f32(60, 32)], D8),
    *(["[-,d]", "[d,-]"], ["[-,-]"]),
    [all_reduce("d", size(32, 32))],
)
case(
    *("n50_uneven_softmax", softmax, [f32(16, 60)], D8, ["[-,d]"], ["[-,d]"]),
    TWO_ROWS,
)
case(
    *("n50_uneven_arg_max", arg_max, [f32(60)], D8, ["[d]"], ["[]"]),
    TWO_SCALARS,
)
case(
    *("n50_uneven_rows", softmax, [f32(60, 16)], D8, ["[d,-]"], ["[d,-]"]),
    NONE,
)
