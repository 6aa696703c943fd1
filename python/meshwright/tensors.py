"""Pytrees as safetensors files, under the names that lowered modules use."""

from pathlib import Path

from meshwright.naming import leaf_names, require_unique


def save_tensors(path: str | Path, **trees) -> None:
    """Writes the leaves of each tree, as if it were the argument of that name.

    `save_tensors("init.safetensors", state=state)` has `state/params/w` and so on.
    """
    import jax
    import numpy as np
    from safetensors.numpy import save

    names = [name for key, tree in trees.items() for name in leaf_names(tree, key)]
    require_unique(names, "tensor")
    # Not ascontiguousarray: that makes a scalar an array of one.
    leaves = (
        np.asarray(leaf, order="C")
        for leaf in jax.tree_util.tree_leaves(list(trees.values()))
    )
    Path(path).write_bytes(save(dict(zip(names, leaves, strict=True))))
