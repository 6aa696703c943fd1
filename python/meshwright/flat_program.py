"""A traced function, traced again as a function from flat arrays to flat arrays.

Two things that `jax.jit` does on the way to HLO are undone by this: it drops unused
arguments, and it marks PRNG keys with sharding annotations that no one asked for.
"""


def has_keys(traced) -> bool:
    """Whether any argument or result is a typed PRNG key."""
    import jax

    return any(
        map(_is_key, jax.tree_util.tree_leaves((traced.args_info, traced.out_info)))
    )


def flatten(traced):
    """Same program; every leaf is an argument, keys are their raw integers."""
    import jax
    from jax.extend.core import jaxpr_as_fun

    leaves = jax.tree_util.tree_leaves(traced.args_info)
    program = jaxpr_as_fun(traced.jaxpr)
    wrappers = [_key_wrapper(leaf) for leaf in leaves]

    def flat(*arrays):
        arguments = [wrap(x) for wrap, x in zip(wrappers, arrays, strict=True)]
        return [_raw(result) for result in program(*arguments)]

    flat.__name__ = traced.fun_name
    jitted = jax.jit(
        flat,
        keep_unused=True,
        donate_argnums=[i for i, leaf in enumerate(leaves) if leaf.donated],
    )
    return jitted.trace(*(jax.eval_shape(_raw, _struct(leaf)) for leaf in leaves))


def _is_key(leaf) -> bool:
    import jax

    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _struct(leaf):
    import jax

    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def _raw(array):
    import jax

    return jax.random.key_data(array) if _is_key(array) else array


def _key_wrapper(leaf):
    """Inverse of `_raw` for arrays of the leaf's dtype."""
    import jax

    if not _is_key(leaf):
        return lambda array: array
    implementations = []
    jax.eval_shape(
        lambda key: implementations.append(jax.random.key_impl(key)), _struct(leaf)
    )
    return lambda data: jax.random.wrap_key_data(data, impl=implementations[0])
