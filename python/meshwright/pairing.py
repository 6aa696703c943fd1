"""Which outputs are the next value of which argument.

An argument and a part of the result belong together when they are the same tree with
leaves of the same shapes and dtypes.

    step(params, momentum, x) -> (loss, {"momentum": ..., "params": ...})

With n leaves each, params continue as outputs n+1..2n: both parts of the result fit,
and the one of the same name wins.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from meshwright.naming import key_text


@dataclass(frozen=True)
class Subtree:
    """A part of the result: its own key, its structure, the outputs it covers."""

    key: str
    structure: object  # jax.tree_util.PyTreeDef
    outputs: range


class Pairing:
    """Hands out parts of the result to arguments, each output at most once."""

    def __init__(self, result):
        """`result` is the pytree of output shapes, as jax reports it."""
        import jax

        paths, structure = jax.tree_util.tree_flatten_with_path(result)
        self._types = [_type(leaf) for _, leaf in paths]
        self._subtrees = list(_subtrees(structure, [path for path, _ in paths]))
        self._taken: set[int] = set()

    def take(self, name: str, argument) -> range | None:
        """The outputs that continue the argument, or None.

        Of several parts that fit, takes one with the argument's name for its key, or
        else the first; a tree comes before its own parts.
        """
        import jax

        leaves, structure = jax.tree_util.tree_flatten(argument)
        if not leaves:
            return range(0)
        types = [_type(leaf) for leaf in leaves]
        fitting = [
            subtree
            for subtree in self._subtrees
            if subtree.structure == structure
            and [self._types[i] for i in subtree.outputs] == types
            and self._taken.isdisjoint(subtree.outputs)
        ]
        if not fitting:
            return None
        namesakes = [subtree for subtree in fitting if subtree.key == name]
        outputs = (namesakes or fitting)[0].outputs
        self._taken.update(outputs)
        return outputs


def _subtrees(structure, paths, start: int = 0, depth: int = 0) -> Iterator[Subtree]:
    """The tree and all its parts that have leaves; `paths` lead to the leaves."""
    if structure.num_leaves == 0:
        return
    key = key_text(paths[start][depth - 1]) if depth else ""
    yield Subtree(key, structure, range(start, start + structure.num_leaves))
    for child in structure.children():
        yield from _subtrees(child, paths, start, depth + 1)
        start += child.num_leaves


def _type(leaf) -> tuple:
    return tuple(leaf.shape), leaf.dtype
