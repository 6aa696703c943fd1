"""flax.nnx objects as trees of named arrays, and back.

flax is imported only if there is an nnx object.
"""

from collections import OrderedDict
from collections.abc import Sequence

from meshwright.naming import leaf_names


class NnxObjects:
    """nnx objects as trees of arrays, and back.

        objects, trees = NnxObjects.of([model, optimizer])
        trees  # [{"head/kernel": ..., ...}, {"opt_state/0/mu/head/kernel": ..., ...}]

    A variable that several objects share belongs to the first one.
    """

    @classmethod
    def of(cls, objects: Sequence) -> tuple["NnxObjects", list[dict]]:
        import jax

        self = cls()
        self._count, self._names = len(objects), []
        if not objects:
            return self, []
        from flax import nnx

        self._graphdef, state = nnx.split(tuple(objects))
        leaves, self._structure = jax.tree_util.tree_flatten(state)
        self._names = _names(state)
        # An OrderedDict keeps its order, also in jax.
        trees = [OrderedDict() for _ in objects]
        for (index, name), leaf in zip(self._names, leaves, strict=True):
            trees[index][name] = leaf
        return self, trees

    def __eq__(self, other) -> bool:
        return isinstance(other, NnxObjects) and vars(self) == vars(other)

    __hash__ = None

    def merge(self, trees: Sequence[dict]) -> Sequence:
        """New objects with the arrays of the trees."""
        if not self._count:
            return ()
        from flax import nnx

        return nnx.merge(self._graphdef, self._state(trees))

    def update(self, objects: Sequence, trees: Sequence[dict]) -> None:
        """Puts the arrays of the trees into the objects."""
        if self._count:
            from flax import nnx

            nnx.update(tuple(objects), self._state(trees))

    def shardings(self, trees: Sequence[dict]) -> list:
        """Shardings for `in_shardings` of `nnx.jit`; None for an object without
        arrays."""
        if not self._count:
            return []
        from flax import nnx

        # Each object's own state, including what it shares with others.
        states = [nnx.state(found) for found in self.merge(trees)]
        return [nnx.StateSharding(state) if state else None for state in states]

    def _state(self, trees: Sequence[dict]):
        import jax

        leaves = [trees[index][name] for index, name in self._names]
        return jax.tree_util.tree_unflatten(self._structure, leaves)


def _names(state) -> list[tuple[int, str]]:
    """For each array of `nnx.split((object, ...))`: the index of its object, and its
    name."""
    found = []
    for name in leaf_names(state, "objects"):
        _, index, *rest = name.split("/", 2)
        found.append((int(index), *(rest or [""])))  # A variable by itself has no name.
    return found
