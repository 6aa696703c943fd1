"""A stack of equal blocks, either unrolled or as one scan."""

import jax


def init_blocks(init, key, count: int, *, scan: bool):
    """`init(key)` for each block: a list, or one tree with a leading dimension."""
    keys = jax.random.split(key, count)
    return jax.vmap(init)(keys) if scan else [init(k) for k in keys]


def run_blocks(block, params, x, *, scan: bool, remat: bool):
    """Applies `block(params_of_one, x) -> x` in order.

    With `remat`, only the inputs of blocks are saved for the backward pass.
    """
    if remat:
        block = jax.checkpoint(block)
    if scan:
        return jax.lax.scan(lambda x, p: (block(p, x), None), x, params)[0]
    for block_params in params:
        x = block(block_params, x)
    return x
