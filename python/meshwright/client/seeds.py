"""The keys of random numbers that a run began with, as its checkpoints tell of them."""

from collections.abc import Mapping

from meshwright.keys import is_key, key_implementation, raw
from meshwright.naming import leaf_names

_MOST_NUMBERS = 64  # Of one array of keys.


def default_implementation() -> str:
    """Of keys that do not say which they are."""
    import jax

    return jax.config.jax_default_prng_impl


def keys_of(args: tuple) -> dict[str, dict]:
    """The keys among arguments, by name: `{"0": {"impl": "rbg", "data": [0, 7]}}`.
    Also those of old, u32[2] or u32[4]."""
    import jax
    import numpy as np

    found = {}
    for name, leaf in zip(
        leaf_names(args), jax.tree_util.tree_leaves(args), strict=True
    ):
        implementation = key_implementation(leaf)
        if not implementation:
            if getattr(leaf, "dtype", None) != np.uint32 or leaf.shape not in (
                (2,),
                (4,),
            ):
                continue
            implementation = default_implementation()
        data = np.asarray(raw(leaf))
        if data.size <= _MOST_NUMBERS:
            found[name] = {"impl": implementation, "data": data.tolist()}
    return found


def state_keys(leaves: Mapping[str, object]) -> dict[str, str]:
    """Of arrays by name, what kind of key those are that are keys."""
    return {n: key_implementation(leaf) for n, leaf in leaves.items() if is_key(leaf)}
