"""Arguments as safetensors files, with the names that lowered modules use."""

from pathlib import Path

from meshwright.arrays import Arrays
from meshwright.errors import MeshwrightError, in_one_line
from meshwright.files import read_bytes, write_bytes
from meshwright.keys import key_wrapper, raw, raw_shape
from meshwright.naming import leaf_names, require_unique


def named_tensors(**trees) -> dict:
    """The arrays of each tree, with names as if it were the argument of that keyword.

    Trees may be nnx objects and equinox modules; everything that is no array is
    omitted.
    """
    import jax

    arrays = Arrays.of(trees, only_arrays=True)[1]
    names = [name for key in trees for name in leaf_names(arrays[key], key)]
    require_unique(names, "tensor")
    leaves = [x for key in trees for x in jax.tree_util.tree_leaves(arrays[key])]
    return dict(zip(names, leaves, strict=True))


def save_tensors(path: str | Path, **trees) -> None:
    """Writes the arrays of each tree, with names as if it were the argument of that
    keyword.

    `save_tensors("init.safetensors", state=state)` writes `state/params/w` and so on.
    PRNG keys are written as the integers that they consist of.
    """
    import numpy as np
    from safetensors.numpy import save

    # Not ascontiguousarray, which makes an array of one element from a scalar.
    tensors = {
        name: np.asarray(raw(leaf), order="C")
        for name, leaf in named_tensors(**trees).items()
    }
    write_bytes(path, save(tensors))


def load_tensors(path: str | Path, **trees) -> dict:
    """The trees with values from a file, such as `meshwright run --save` writes.

    `load_tensors("end.safetensors", state=state)["state"]` has the structure of
    `state`. Raises MeshwrightError, naming the tensor, if one is missing or has another
    shape.
    """
    import jax.numpy as jnp
    from safetensors.numpy import load

    data = read_bytes(path)
    try:
        tensors = load(data)
    except Exception as error:
        raise MeshwrightError(f"{path}: {in_one_line(error)}") from error
    arrays, tree = Arrays.of(trees, only_arrays=True)
    loaded = []
    for name, leaf in named_tensors(**trees).items():
        if name not in tensors:
            raise MeshwrightError(f"{path}: there is no {name}")
        got, want = tensors[name], raw_shape(leaf)
        if got.shape != want:
            raise MeshwrightError(
                f"{path}: {name} is {list(got.shape)}, not {list(want)}"
            )
        loaded.append(key_wrapper(leaf)(jnp.asarray(got)))
    return arrays.restore(_in_order_of(tree, trees, loaded))


def _in_order_of(tree: dict, trees: dict, leaves: list) -> dict:
    """The tree with these leaves, which are in the order of the keywords."""
    import jax

    rest = iter(leaves)
    return {
        key: jax.tree_util.tree_map(lambda _: next(rest), tree[key]) for key in trees
    }
