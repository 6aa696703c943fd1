"""Typed PRNG keys, which modules represent as arrays of u32 with one more dimension.

jax.random.key(0)                     # key<fry>[]  is u32[2]
jax.random.split(key, 8)              # key<fry>[8] is u32[8, 2]
"""

IMPLEMENTATIONS = ("threefry2x32", "rbg", "unsafe_rbg")


def is_key(leaf) -> bool:
    """Whether a value with a dtype is a key."""
    import jax

    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def raw(array):
    """The integers of a key; other arrays unchanged."""
    import jax

    return jax.random.key_data(array) if is_key(array) else array


def raw_shape(leaf) -> tuple[int, ...]:
    """The shape of the leaf in a module; () for a number."""
    import jax
    import numpy as np

    if not is_key(leaf):
        return tuple(np.shape(leaf))
    return jax.eval_shape(raw, jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)).shape


def key_implementation(leaf) -> str:
    """`threefry2x32` or another name; "" if the leaf is no key."""
    import jax

    if not is_key(leaf):
        return ""
    own = _implementation(leaf)
    for name in IMPLEMENTATIONS:  # Older versions of jax have no name.
        if own in (name, _implementation(jax.random.key(0, impl=name))):
            return name
    return str(own)


def key_wrapper(leaf):
    """The inverse of `raw` for arrays of the leaf's dtype."""
    import jax

    if not is_key(leaf):
        return lambda array: array
    own = _implementation(leaf)
    return lambda data: jax.random.wrap_key_data(data, impl=own)


def _implementation(leaf):
    import jax

    found = []
    struct = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), struct)
    return found[0]
