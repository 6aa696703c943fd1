"""States that come back from a step as something else."""

from collections.abc import Collection

from meshwright.errors import MeshwrightError, warn
from meshwright.naming import leaf_names


def require_no_twin(argument, result, taken: Collection[int]) -> None:
    """Refuses a step that returns a state with other shapes or dtypes; `taken` are the
    leaves of the result that are the next values of others."""
    import jax

    structure = jax.tree_util.tree_structure(argument.tree)
    if structure.num_leaves < 2:
        return

    def is_like(part) -> bool:
        return jax.tree_util.tree_structure(part) == structure

    parts = [
        part
        for part in jax.tree_util.tree_leaves(_numbered(result), is_leaf=is_like)
        if is_like(part) and not _numbers(part) & set(taken)
    ]
    if not parts:
        return
    leaves = jax.tree_util.tree_leaves(result)
    after = [leaves[number] for number in jax.tree_util.tree_leaves(parts[0])]
    names = leaf_names(argument.tree, argument.name)
    for name, old, new in zip(names, argument.leaves, after, strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise MeshwrightError(
                f"{name} goes into the step as {_text(old)} and comes back as "
                f"{_text(new)}: a state must keep its shapes and dtypes"
            )


def warn_of_other_tree(argument, result, taken: Collection[int]) -> None:
    """Warns if half of a state's arrays, or more, come back in another tree."""
    import jax

    before = dict(zip(leaf_names(argument.tree), argument.leaves, strict=True))
    if len(before) < 2:
        return
    leaves = jax.tree_util.tree_leaves(result)
    numbered = _numbered(result)
    parts = numbered.values() if isinstance(result, dict) else numbered
    is_container = isinstance(result, dict | tuple | list)
    for part in [numbered, *(parts if is_container else ())]:
        if _numbers(part) & set(taken):
            continue
        own = [leaves[number] for number in jax.tree_util.tree_leaves(part)]
        after = dict(zip(leaf_names(part), own, strict=True))
        kept = [
            name
            for name, leaf in before.items()
            if name in after and _text(after[name]) == _text(leaf)
        ]
        if 2 * len(kept) < len(before):
            continue
        changes = [
            f"{what} {', '.join(names[:4])}{', ...' * (len(names) > 4)}"
            for what, names in (
                ("without", [name for name in before if name not in after]),
                ("with", [name for name in after if name not in before]),
            )
            if names
        ]
        warn(
            f"{argument.name} comes back as another tree, {' and '.join(changes)}: its "
            f"arrays are new ones, not the next {argument.name}; a step that trains "
            "keeps the tree of its state"
        )
        return


def _numbered(result):
    """Each leaf its number."""
    import jax

    leaves, structure = jax.tree_util.tree_flatten(result)
    return structure.unflatten(range(len(leaves)))


def _numbers(part) -> set[int]:
    import jax

    return set(jax.tree_util.tree_leaves(part))


def _text(leaf) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"
