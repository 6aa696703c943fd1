"""Dynamic slices, gathers, scatters and sorts."""

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
    reduce_scatter,
    s32,
    size,
)
from jax import lax


def take_rows(x, start):
    return lax.dynamic_slice_in_dim(x, start, 4, axis=0)


def put_row(x, row, start):
    return lax.dynamic_update_slice_in_dim(x, row, start, axis=0)


def embed(table, ids):
    return table[ids]


def add_rows(table, ids, rows):
    return table.at[ids].add(rows)


def max_rows(table, ids, rows):
    return table.at[ids].max(rows)


def set_rows(table, ids, rows):
    return table.at[ids].set(rows)


def pick(x, index):
    return jnp.take_along_axis(x, index, axis=-1)


def sort(x):
    return jnp.sort(x, axis=-1)


def top_four(x):
    return lax.top_k(x, 4)


SQUARE = f32(64, 64)
case(
    *("n25_slice_other", take_rows, [SQUARE, s32()], D8, ["[-,d]", "[]"]),
    ["[-,d]"],
    NONE,
)
case(
    *("n26_slice_split", take_rows, [SQUARE, s32()], D8, ["[d,-]", "[]"]),
    ["[-,-]"],
    [all_reduce("d", size(4, 64))],
)
for rows in (1, 4):
    case(
        *(f"n27_update_{rows}", put_row, [SQUARE, f32(rows, 64), s32()], D8),
        *(["[d,-]", "[-,-]", "[]"], ["[d,-]"]),
        NONE,
    )

EMBEDDING = [f32(128, 32), s32(64)]
case(
    *("n28_vocabulary", embed, EMBEDDING, D8, ["[d,-]", "[-]"], ["[-,-]"]),
    [all_reduce("d", size(64, 32))],
)
case("n28_features", embed, EMBEDDING, D8, ["[-,d]", "[-]"], ["[-,d]"], NONE)
case("n28_ids", embed, EMBEDDING, D8, ["[-,-]", "[d]"], ["[d,-]"], NONE)
case(
    *("n29_vocabulary_and_ids", embed, EMBEDDING, XY, ["[y,-]", "[x]"]),
    ["[x,-]"],
    [all_reduce("y", size(16, 32))],
)
case(
    *("n30_same_axis", embed, EMBEDDING, D8, ["[d,-]", "[d]"], ["[d,-]"]),
    [all_gather("d", size(8)), reduce_scatter("d", size(64, 32))],
    # A small table is cheaper to gather, with one collective.
    [all_gather("d", size(16, 32))],
)
case(
    *("n30_same_axis_large_table", embed, [f32(1024, 32), s32(64)], D8),
    *(["[d,-]", "[d]"], ["[d,-]"]),
    [all_gather("d", size(8)), reduce_scatter("d", size(64, 32))],
    large=True,
)

SCATTER = [f32(128, 32), s32(64), f32(64, 32)]
case(
    *("n31_add_updates", add_rows, SCATTER, D8, ["[-,-]", "[d]", "[d,-]"]),
    ["[-,-]"],
    [all_reduce("d", size(128, 32))],
    [all_gather("d", size(8)), all_gather("d", size(8, 32))],
)
case(
    *("n31_add_table", add_rows, SCATTER, D8, ["[d,-]", "[-]", "[-,-]"]),
    ["[d,-]"],
    NONE,
)
case(
    *("n31_add_both", add_rows, SCATTER, D8, ["[d,-]", "[d]", "[d,-]"]),
    ["[d,-]"],
    [all_gather("d", size(8)), all_gather("d", size(8, 32))],
    [reduce_scatter("d", size(128, 32))],
)
case(
    *("n32_max", max_rows, SCATTER, D8, ["[-,-]", "[d]", "[d,-]"], ["[-,-]"]),
    [all_reduce("d", size(128, 32))],
)
case(
    *("n32_set", set_rows, SCATTER, D8, ["[-,-]", "[d]", "[d,-]"], ["[-,-]"]),
    [all_gather("d", size(8)), all_gather("d", size(8, 32))],
)

PICK = [f32(16, 64, 64), s32(16, 64, 1)]
case(
    *("n33_pick_split", pick, PICK, D8, ["[-,-,d]", "[-,-,-]"], ["[-,-,-]"]),
    [all_reduce("d", size(16, 64, 1))],
)
case(
    *("n33_pick_batch", pick, PICK, D8, ["[d,-,-]", "[d,-,-]"], ["[d,-,-]"]),
    NONE,
)

case(
    *("n43_sort_rows", sort, [SQUARE], D8, ["[-,d]"], ["[-,d]"]),
    [all_to_all("d", size(64, 8), count=2)],
    large=True,
)
case(
    *("n43_sort_vector", sort, [f32(64)], D8, ["[d]"], ["[d]"]),
    [all_gather("d", size(8))],
)
case(
    *("n43_top_four", top_four, [f32(16, 256)], D8, ["[-,d]"]),
    ["[-,-]", "[-,-]"],
    [all_gather("d", size(16, 4), count=2)],
    large=True,
)
