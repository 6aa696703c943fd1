"""The arrays of a value, separated from everything that jax cannot trace.

    arrays, tree = Arrays.of((model, x, "relu"), only_arrays=True)
    tree                     # ({"head/kernel": ..., "head/bias": ...}, x, None)
    arrays.restore(tree)     # (a model with these arrays, x, "relu")

nnx objects become dictionaries of their arrays; static values become None.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from meshwright.frameworks import is_equinox_module, is_nnx_object, is_nnx_state
from meshwright.nnx_objects import NnxObjects


@dataclass(frozen=True)
class Held:
    """A static argument."""

    value: object


class Arrays:
    """The positions of the arrays in a value, and everything else in it."""

    @classmethod
    def of(cls, value, only_arrays: bool = False) -> tuple["Arrays", object]:
        """Also returns the pytree of the value's arrays.

        Python numbers count as arrays, as they do for `jax.jit`, unless `only_arrays`.
        """
        import jax

        self = cls()
        slots, self._structure = jax.tree_util.tree_flatten(value, is_leaf=_is_slot)
        self._object_slots = [i for i, slot in enumerate(slots) if is_nnx_object(slot)]
        self._static = {
            i: slot
            for i, slot in enumerate(slots)
            if isinstance(slot, Held) or (only_arrays and not _holds_arrays(slot))
        }
        self._objects, trees = NnxObjects.of(self._at_objects(slots))
        self._set_objects(slots, trees)
        for i in self._static:
            slots[i] = None
        tree = self._structure.unflatten(slots)
        self._tree = jax.tree_util.tree_structure(tree)
        return self, tree

    @classmethod
    def of_state(cls, value) -> tuple["Arrays", object]:
        """The same for a state, which is no call's: numbers are static in modules of
        equinox alone, and so is what cannot be an array."""
        return cls.of(hold_in_modules(value))

    def __eq__(self, other) -> bool:
        """Whether one program works for the arrays of both."""
        return isinstance(other, Arrays) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self._tree)

    def unflatten(self, leaves: Sequence):
        """The tree with these arrays, in flat order."""
        return self._tree.unflatten(leaves)

    def restore(self, tree):
        """The value with other arrays; nnx objects are created anew."""
        return self._filled(tree, self._objects.merge)

    def shardings(self, tree):
        """The value with shardings in place of arrays, as for `in_shardings`: a
        StateSharding for an nnx object, None for static values."""
        return self._filled(tree, self._objects.shardings, static=False)

    def object_trees(self, tree) -> list[dict]:
        """The parts of a tree of arrays that correspond to nnx objects."""
        return self._at_objects(self._structure.flatten_up_to(tree))

    def objects(self, value) -> list:
        """The nnx objects of a value of the same structure."""
        return self.object_trees(value)

    def update(self, value, trees: Sequence[dict]) -> None:
        """Puts new arrays into the nnx objects of a value of the same structure."""
        self._objects.update(self.objects(value), trees)

    def _filled(self, tree, convert: Callable, static: bool = True):
        slots = self._structure.flatten_up_to(tree)
        self._set_objects(slots, convert(self._at_objects(slots)))
        for i, value in self._static.items() if static else ():
            slots[i] = value.value if isinstance(value, Held) else value
        return self._structure.unflatten(slots)

    def _at_objects(self, slots: Sequence) -> list:
        return [slots[i] for i in self._object_slots]

    def _set_objects(self, slots: list, values: Sequence) -> None:
        for i, value in zip(self._object_slots, values, strict=True):
            slots[i] = value


def hold_in_modules(value):
    """The value with what is no array in a `Held`. A number is an array to jax, but in
    modules of equinox."""
    import jax

    def hold(part, in_module=False):
        if is_equinox_module(part) and not in_module:
            return jax.tree_util.tree_map(
                lambda leaf: hold(leaf, in_module=True), part, is_leaf=_is_slot
            )
        is_number = isinstance(part, bool | int | float | complex)
        is_kept = _holds_arrays(part) or (is_number and not in_module)
        return part if is_kept or isinstance(part, Held) else Held(part)

    return jax.tree_util.tree_map(hold, value, is_leaf=_is_module_or_slot)


def struct_of(leaf):
    """A `jax.ShapeDtypeStruct` of an array or number, of its own, so that its id tells
    it from others; other values stay."""
    import jax
    import numpy as np

    if is_array(leaf):
        dtype = leaf.dtype
        if isinstance(dtype, np.dtype):
            dtype = jax.dtypes.canonicalize_dtype(dtype)
        return jax.ShapeDtypeStruct(leaf.shape, dtype, weak_type=is_weak(leaf))
    if isinstance(leaf, bool | int | float | complex):
        kind = jax.dtypes.canonicalize_dtype(np.result_type(type(leaf)))
        return jax.ShapeDtypeStruct((), kind, weak_type=not isinstance(leaf, bool))
    return leaf


def is_array(value) -> bool:
    """True for a `jax.ShapeDtypeStruct`, too."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def is_weak(array) -> bool:
    """Whether its type gives way to those of others, as a Python number's does."""
    return getattr(array, "weak_type", False)


def _is_slot(value) -> bool:
    # A State is a pytree of variables, not an object, although it contains some.
    return is_nnx_object(value) or is_nnx_state(value)


def _is_module_or_slot(value) -> bool:
    return is_equinox_module(value) or _is_slot(value)


def _holds_arrays(slot) -> bool:
    return _is_slot(slot) or is_array(slot)
