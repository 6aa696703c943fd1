"""Slices, joins, reshapes and changes of sharding."""

import jax
import jax.numpy as jnp
from case import (
    ABC,
    D8,
    NONE,
    XY,
    all_gather,
    all_reduce,
    all_to_all,
    case,
    f32,
    permute,
    permutes,
    reduce_scatter,
    s32,
    size,
    u32,
)
from jax import lax


def reverse(x):
    return x[::-1]


def roll(x):
    return jnp.roll(x, 1, axis=0)


def middle_third(x):
    return x[:, 256:512]


def pad_to_last_third(x):
    return jnp.pad(x, ((0, 0), (512, 0)))


def shifted_loss(predicted, seen):
    return jnp.sum((predicted[:, :-1] - seen[:, 1:]) ** 2)


def join(a, b):
    return jnp.concatenate([a, b], axis=1)


def rotary(x, cosine, sine):
    a, b = jnp.split(x, 2, axis=-1)
    return x * cosine + jnp.concatenate([-b, a], axis=-1) * sine


def merge(x):
    return x.reshape(1024, 32)


def merge_and_back(x):
    return jnp.tanh(x.reshape(1024, 32)).reshape(16, 64, 32)


def split_heads(heads):
    def split(x):
        return x.reshape(x.shape[0], heads, x.shape[1] // heads)

    split.__name__ = f"split_{heads}_heads"
    return split


def identity(x):
    return x


def one_hot(x):
    return jax.nn.one_hot(x, 64)


def causal_mask():
    row = lax.broadcasted_iota(jnp.int32, (64, 64), 0)
    column = lax.broadcasted_iota(jnp.int32, (64, 64), 1)
    return jnp.where(row >= column, 0.0, -1e9)


def iota():
    return jnp.arange(64)


def filled(x):
    return jnp.full((64, 64), x)


def transposed(x):
    return x.T


def random_bits(key):
    return jax.random.bits(jax.random.wrap_key_data(key), (1024,))


def generated_bits(key):
    return lax.rng_bit_generator(key, (1024,))[1]


case(
    *("n19_reverse", reverse, [f32(64)], D8, ["[d]"], ["[d]"]),
    [permute(size(8))],
)
case(
    *("n19_roll", roll, [f32(64, 4)], D8, ["[d,-]"], ["[d,-]"]),
    [permute(size(1, 4))],
    large=True,
)

case(
    *("n20_slice", middle_third, [f32(16, 768)], D8, ["[-,d]"], ["[-,d]"]),
    [permutes(size(3, 16, 32))],
    large=True,
)
case(
    *("n20_slice_strided", middle_third, [f32(16, 768)], D8),
    *(["[-, 3:- 256:d]"], ["[-,d]"]),
    NONE,
)

case(
    *("n21_pad", pad_to_last_third, [f32(16, 256)], D8, ["[-,d]"], ["[-,d]"]),
    [permutes(size(3, 16, 32))],
    large=True,
)
case(
    *("n21_pad_strided", pad_to_last_third, [f32(16, 256)], D8, ["[-,d]"]),
    ["[-, 3:- 256:d]"],
    NONE,
)

case(
    *("n22_shifted_loss", shifted_loss, [f32(16, 64)] * 2, D8, ["[-,d]"] * 2),
    ["[]"],
    [permute(size(16, 1)), all_reduce("d", 4)],
)

case(
    *("n23_join", join, [f32(16, 64)] * 2, D8, ["[-,d]"] * 2, ["[-,d]"]),
    [permutes(size(2, 16, 16))],
    [all_to_all("d", size(16, 16))],
    large=True,
)
case(
    *("n23_join_strided", join, [f32(16, 64)] * 2, D8, ["[-,d]"] * 2),
    ["[-, 2:- 64:d]"],
    NONE,
)
case(
    *("n23_join_rows", join, [f32(16, 64)] * 2, D8, ["[d,-]"] * 2, ["[d,-]"]),
    NONE,
)

ROTARY = [f32(16, 8, 64), f32(16, 1, 64), f32(16, 1, 64)]
case(
    *("n24_rotary_heads", rotary, ROTARY, D8, ["[-,d,-]", "[-,-,-]", "[-,-,-]"]),
    ["[-,d,-]"],
    NONE,
)
case(
    *("n24_rotary_features", rotary, ROTARY, D8, ["[-,-,d]"] * 3, ["[-,-,d]"]),
    [permutes(size(2, 16, 8, 8))],
    # As much on the wire as one permute.
    [reduce_scatter("d:(1)2", size(2, 16, 8, 8))],
    [all_to_all("d:(1)2", size(16, 8, 8), count=2)],
    large=True,
)
case(
    *("n24_rotary_features_strided", rotary, ROTARY, D8),
    *(["[-,-,2:- 32:d]"] * 3, ["[-,-,2:- 32:d]"]),
    NONE,
)

CUBE = f32(16, 64, 32)
case("n34_merge_first", merge, [CUBE], D8, ["[d,-,-]"], ["[d,-]"], NONE)
case(
    *("n34_merge_second_and_back", merge_and_back, [CUBE], D8, ["[-,d,-]"]),
    ["[-,d,-]"],
    NONE,
)

case(
    *("n35_split_heads", split_heads(8), [f32(64, 256)], D8, ["[-,d]"]),
    ["[-,d,-]"],
    NONE,
)
case(
    *("n35_split_heads_and_features", split_heads(4), [f32(64, 256)], XY),
    *(["[-,(x,y)]"], ["[-,x,y]"]),
    NONE,
)

case(
    *("n36_twelve_heads", split_heads(12), [f32(64, 768)], D8, ["[-,d]"]),
    ["[-,d:(1)4,-]"],
    [all_gather("d:(4)2", size(64, 96))],
)

SQUARE = [f32(64, 64)]
FOUR = [f32(16, 16, 16)]
case(
    *("n37_rows_to_columns", identity, SQUARE, D8, ["[d,-]"], ["[-,d]"]),
    [all_to_all("d", size(8, 64))],
)
case(
    *("n37_axes_swapped", identity, SQUARE, XY, ["[(x,y),-]"], ["[(y,x),-]"]),
    [permute(size(8, 64))],
)
case(
    *("n37_dimensions_swapped", identity, SQUARE, XY, ["[x,y]"], ["[y,x]"]),
    [all_to_all(None, size(16, 32)), permute(size(16, 32))],
)
case(
    *("n38_rotated", identity, FOUR, ABC, ["[a,b,c]"], ["[c,a,b]"]),
    [permute(size(8, 8, 8))],
)
case(
    *("n38_moved_and_dropped", identity, SQUARE, ABC, ["[(a,b,c),-]"], ["[c,a]"]),
    [all_to_all(), permute(), all_gather()],
    [all_to_all("(a,b,c)", size(8, 64)), all_to_all("c"), all_gather("b")],
    large=True,
)
case(
    *("n38_moved_to_idle", identity, FOUR, ABC, ["[a,-,-]"], ["[-,b,c]"]),
    [all_gather("a", size(8, 8, 8))],
)

case("n45_iota", iota, [], D8, [], ["[d]"], NONE)
case("n45_one_hot", one_hot, [s32(32)], D8, ["[d]"], ["[d,-]"], NONE)
case("n45_one_hot_classes", one_hot, [s32(32)], D8, ["[-]"], ["[-,d]"], NONE)
case("n45_causal_mask", causal_mask, [], XY, [], ["[x,y]"], NONE)
case("n45_filled", filled, [f32()], XY, ["[]"], ["[x,y]"], NONE)
case("n45_transposed", transposed, SQUARE, XY, ["[x,y]"], ["[y,x]"], NONE)

case("n46_random_bits", random_bits, [u32(2)], D8, ["[-]"], ["[d]"], NONE)
case("n46_generated_bits", generated_bits, [u32(4)], D8, ["[-]"], ["[d]"], NONE)
