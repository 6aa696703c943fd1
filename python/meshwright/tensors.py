"""Arguments as safetensors files, under the names that lowered modules use."""

from pathlib import Path

from meshwright.arrays import Arrays
from meshwright.errors import MeshwrightError
from meshwright.keys import is_key, key_wrapper, raw
from meshwright.naming import leaf_names, require_unique


def named_tensors(**trees) -> dict:
    """The arrays of each tree, by name, as if it were the argument of that name.

    Trees may be nnx objects and equinox modules; what is no array is left out.
    """
    import jax

    arrays = Arrays.of(trees, only_arrays=True)[1]
    names = [name for key in trees for name in leaf_names(arrays[key], key)]
    require_unique(names, "tensor")
    leaves = [x for key in trees for x in jax.tree_util.tree_leaves(arrays[key])]
    return dict(zip(names, leaves, strict=True))


def save_tensors(path: str | Path, **trees) -> None:
    """Writes the arrays of each tree, as if it were the argument of that name.

    `save_tensors("init.safetensors", state=state)` has `state/params/w` and so on.
    PRNG keys are written as the integers that they consist of.
    """
    import numpy as np
    from safetensors.numpy import save

    # Not ascontiguousarray: that makes a scalar an array of one.
    tensors = {
        name: np.asarray(raw(leaf), order="C")
        for name, leaf in named_tensors(**trees).items()
    }
    Path(path).write_bytes(save(tensors))
