"""Element-wise operations, contractions and the partial sums they leave."""

import jax
import jax.numpy as jnp
from case import (
    D8,
    NONE,
    XY,
    all_gather,
    all_reduce,
    all_to_all,
    case,
    f32,
    permute,
    reduce_scatter,
    s32,
    size,
)

SQUARE = f32(64, 64)


def add(a, b):
    return a + b


def dot(a, b):
    return a @ b


def batched_dot(a, b):
    return jnp.einsum("bmk,bkn->bmn", a, b)


def mlp(x, w1, w2):
    return jax.nn.relu(x @ w1) @ w2


def weight_gradient(x, dy):
    return x.T @ dy


def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)


def sum_of_dots(a, b, c, d):
    return a @ b + c @ d


def scaled_transposed_dot(a, b):
    return (2 * (a @ b)).T


def tied_gradient(ids, rows, logits, hidden):
    return jnp.zeros((128, 32)).at[ids].add(rows) + logits.T @ hidden


def attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k))
    return jnp.einsum("hqk,hkd->hqd", weights, v)


def dispatch(mask, x):
    return jnp.einsum("bsec,bsm->ebcm", mask, x)


case("n01_add", add, [SQUARE] * 2, D8, ["[d,-]", "[-,-]"], ["[d,-]"], NONE)

case(
    *("n02_dot_k_reduced", dot, [SQUARE] * 2, D8, ["[-,d]", "[d,-]"], ["[-,-]"]),
    [all_reduce("d", size(64, 64))],
)
case(
    *("n02_dot_k_scattered", dot, [SQUARE] * 2, D8, ["[-,d]", "[d,-]"], ["[d,-]"]),
    [reduce_scatter("d", size(64, 64))],
)

case("n03_dot_m_n", dot, [SQUARE] * 2, XY, ["[x,-]", "[-,y]"], ["[x,y]"], NONE)
case(
    *("n03_dot_batch", batched_dot, [f32(8, 16, 32), f32(8, 32, 16)], D8),
    *(["[d,-,-]", "[d,-,-]"], ["[d,-,-]"]),
    NONE,
)

case(
    *("n04_dot_one_axis", dot, [SQUARE] * 2, D8, ["[d,-]", "[-,d]"], ["[d,-]"]),
    [all_gather("d", size(64, 8))],
)

case(
    *("n05_dot_small_result", dot, [f32(64, 256), f32(256, 16)], D8),
    *(["[-,d]", "[-,-]"], ["[-,-]"]),
    [all_reduce("d", size(64, 16))],
)
case(
    *("n05_dot_large_result", dot, [f32(64, 16), f32(16, 256)], D8),
    *(["[-,d]", "[-,-]"], ["[-,-]"]),
    [all_gather("d", size(64, 2))],
)

case(
    *("n06_dot_k_on_two_axes", dot, [SQUARE] * 2, XY),
    *(["[-,x]", "[y,-]"], ["[-,-]"]),
    [permute(size(64, 8)), all_reduce("(x,y)", size(64, 64))],
    [permute(size(64, 8)), all_reduce("(y,x)", size(64, 64))],
    [permute(size(16, 64)), all_reduce("x", size(64, 64))],
    [all_gather("y", size(32, 64)), all_reduce("x", size(64, 64))],
)

case(
    *("n07_mlp", mlp, [f32(64, 128), f32(128, 256), f32(256, 128)], XY),
    *(["[x,-]", "[-,y]", "[y,-]"], ["[x,-]"]),
    [all_reduce("y", size(16, 128))],
)

case(
    *("n08_weight_gradient", weight_gradient, [f32(64, 32), f32(64, 16)], D8),
    *(["[d,-]", "[d,-]"], ["[-,-]"]),
    [all_reduce("d", size(32, 16))],
)
case(
    *("n08_fully_sharded", step, [SQUARE, f32(128, 64)], D8),
    *(["[d,-]", "[d,-]"], ["[d,-]"]),
    [all_gather("d", size(8, 64)), reduce_scatter("d", size(64, 64))],
)

case(
    *("n09_sum_of_dots", sum_of_dots, [SQUARE] * 4, D8),
    *(["[-,d]", "[d,-]"] * 2, ["[-,-]"]),
    [all_reduce("d", size(64, 64))],
)

case(
    *("n10_scaled_transposed_dot", scaled_transposed_dot, [SQUARE] * 2, D8),
    *(["[-,d]", "[d,-]"], ["[-,d]"]),
    [reduce_scatter("d", size(64, 64))],
)

case(
    *("n11_tied_gradient", tied_gradient),
    [s32(64), f32(64, 32), f32(64, 128), f32(64, 32)],
    *(D8, ["[d]", "[d,-]", "[d,-]", "[d,-]"], ["[-,-]"]),
    [all_reduce("d", size(128, 32))],
)

# A sum that is pending over some axes, to be split over the same or others.
case(
    *("n39_pending_to_same", dot, [SQUARE] * 2, XY, ["[-,x]", "[x,-]"], ["[x,-]"]),
    [reduce_scatter("x", size(64, 64))],
    # With y idle: half of it each, then together.
    [reduce_scatter("x", size(32, 64)), all_gather("y", size(8, 64))],
)
case(
    *("n39_pending_to_other", dot, [SQUARE] * 2, XY, ["[-,x]", "[x,-]"], ["[y,-]"]),
    [all_reduce("x", size(32, 64))],
)
case(
    *("n39_pending_both", dot, [SQUARE] * 2, XY, ["[-,(x,y)]", "[(x,y),-]"]),
    ["[x,-]"],
    [reduce_scatter("x", size(64, 64)), all_reduce("y", size(16, 64))],
    large=True,
)

ATTENTION = [f32(8, 64, 32)] * 3
case(
    *("n47_attention_heads", attention, ATTENTION, D8, ["[d,-,-]"] * 3),
    ["[d,-,-]"],
    NONE,
)
case(
    *("n47_attention_queries", attention, ATTENTION, D8, ["[-,d,-]"] * 3),
    ["[-,d,-]"],
    [all_gather("d", size(8, 8, 32), count=2)],
)

case(
    *("n52_dispatch", dispatch, [f32(8, 16, 8, 4), f32(8, 16, 32)], D8),
    *(["[d,-,-,-]", "[d,-,-]"], ["[d,-,-,-]"]),
    [all_to_all("d", size(8, 1, 4, 32))],
)
