"""Training state that stays where it is trained.

    state = step.init(init_fn, key)
    params, optimizer = state                # If init_fn returns a tuple of two.
    state["params"].fetch("wte")             # One array, on the host.
    state.fetch()                            # All, in the tree that init_fn returned.

A State stands for arrays of a Store. Giving it to a step hands it over, as jit does
with arguments that are donated: the step returns the next one.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from meshwright.arrays import Arrays, is_array, is_weak, struct_of
from meshwright.errors import MeshwrightError
from meshwright.keys import key_wrapper
from meshwright.naming import leaf_names


@dataclass(frozen=True, eq=False)
class Form:
    """A value whose arrays are `jax.ShapeDtypeStruct`s, and the slot of the store that
    each of them stands for."""

    value: object
    slots: Mapping[int, int]  # By the id of the struct.

    @classmethod
    def of(cls, value) -> "Form":
        """A form for a store of its own, its slots in flat order."""
        import jax

        arrays, tree = Arrays.of_state(value)
        structs = jax.tree_util.tree_map(struct_of, tree)
        slots = {id(s): i for i, s in enumerate(jax.tree_util.tree_leaves(structs))}
        return cls(arrays.restore(structs), slots)

    @cached_property
    def _parts(self) -> tuple[Arrays, object]:
        return Arrays.of_state(self.value)

    @cached_property
    def leaves(self) -> list:
        import jax

        return jax.tree_util.tree_leaves(self._parts[1])

    @cached_property
    def key(self):
        """Equal for forms that one plan does for."""
        import jax

        arrays, tree = self._parts
        types = tuple((leaf.shape, leaf.dtype, is_weak(leaf)) for leaf in self.leaves)
        structure = jax.tree_util.tree_structure(tree)
        return arrays, structure, types, tuple(self.own_slots)

    @cached_property
    def own_slots(self) -> list[int]:
        return [self.slots[id(leaf)] for leaf in self.leaves]

    def part(self, key) -> "Form":
        return Form(self.value[key], self.slots)

    def attribute(self, name: str) -> "Form":
        """Of a named tuple, a data class or a model. AttributeError if there is none,
        or nothing in it is of the state."""
        found = Form(getattr(self.value, name), self.slots)
        if not found.leaves or not all(id(leaf) in self.slots for leaf in found.leaves):
            raise AttributeError
        return found

    def names(self) -> list[str]:
        return leaf_names(self._parts[1])

    def filled(self, arrays: Sequence):
        """The value with these arrays."""
        import jax

        found, tree = self._parts
        structure = jax.tree_util.tree_structure(tree)
        return found.restore(jax.tree_util.tree_unflatten(structure, arrays))


class State:
    """`version` is that of the store's content it stands for."""

    def __init__(self, store, form: Form, version: int):
        self._store, self._form, self._version = store, form, version

    def fetch(self, name: str | None = None):
        """The arrays on the host: all of them in their tree, or one by its name; the
        name of a part gives a dictionary of what is in it."""
        form, wrap = self._form, self._wrapped
        self.require_current()
        if name is None:
            return form.filled(wrap(range(len(form.leaves))))
        names = form.names()
        prefix = f"{name}/"
        chosen = [i for i, n in enumerate(names) if n == name or n.startswith(prefix)]
        if not chosen and names == [""]:
            raise MeshwrightError(
                f"the state has no {name!r}: it is one array, which fetch() gives"
            )
        if not chosen:
            raise MeshwrightError(
                f"the state has no {name!r}; there are {', '.join(names[:8])}"
                + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            )
        arrays = wrap(chosen)
        if names[chosen[0]] == name:
            return arrays[0]
        return dict(zip([names[i][len(prefix) :] for i in chosen], arrays, strict=True))

    def __array__(self, dtype=None, copy=None):
        """What `jax.device_get` calls: as `fetch`, a tree unless the state is one array
        (of a tree NumPy makes no array, and says so)."""
        import numpy as np

        value = self.fetch()
        return value if dtype is None else np.asarray(value, dtype)

    @property
    def names(self) -> list[str]:
        """Of its arrays, as `fetch` takes them."""
        return self._form.names()

    @property
    def shapes(self):
        """The tree with a `jax.ShapeDtypeStruct` for each array."""
        return self._form.value

    def __getitem__(self, key) -> "State":
        self.require_current()
        try:
            return State(self._store, self._form.part(key), self._version)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise MeshwrightError(f"the state has no part {key!r}") from None

    def __getattr__(self, name: str) -> "State":
        """`state.params`, of a named tuple, a data class or a model."""
        if not name.startswith("__") and not is_array(self._form.value):
            with contextlib.suppress(AttributeError):
                part = self._form.attribute(name)
                self.require_current()
                return State(self._store, part, self._version)
        raise AttributeError(
            f"the state has no {name!r}: its arrays are where it is trained, fetch() "
            "gives them, and shapes what they are"
        )

    def __reduce_ex__(self, _):
        raise MeshwrightError(
            "a state is neither copied nor pickled: fetch() gives its arrays, and the "
            "step's save writes them"
        )

    def __iter__(self) -> Iterator["State"]:
        value = self._form.value
        if not isinstance(value, tuple | list):
            raise MeshwrightError(
                f"the state is a {type(value).__name__}, which does not unpack"
            )
        return iter([self[i] for i in range(len(value))])

    def __repr__(self) -> str:
        leaves = self._form.leaves
        elements = sum(_size(leaf) for leaf in leaves)
        return f"<State of {len(leaves)} arrays, {elements:,} elements>"

    def require_current(self) -> None:
        if self._store.last_change(self.slots) > self._version:
            raise MeshwrightError(
                "this state was given to a step, which returned the next one: use that "
                "(state, metrics = step(state, batch))"
            )

    def _wrapped(self, chosen: Sequence[int]) -> list:
        leaves = self._form.leaves
        slots = [self._form.slots[id(leaves[i])] for i in chosen]
        arrays = self._store.fetch(slots)
        return [
            key_wrapper(leaves[i])(array)
            for i, array in zip(chosen, arrays, strict=True)
        ]

    # For steps.

    @property
    def store(self):
        return self._store

    @property
    def form(self) -> Form:
        return self._form

    @property
    def slots(self) -> list[int]:
        return self._form.own_slots

    def renew(self) -> None:
        """It stands for what there is now: an object that was updated in place."""
        self._version = self._store.version


class Store:
    """The arrays of a state, each wherever it is: still to be computed, on the host, or
    in a job that runs.

    A home has `fetch(slots)`, which gives arrays of the host. Whoever changes arrays
    calls `changed`.
    """

    def __init__(self, home, form: Form):
        """`form` is of all its arrays."""
        count = len(form.leaves)
        self.form = form
        self.homes = [home] * count
        self.version = 0
        self._changes = [0] * count  # By slot, the version it has been since.

    @cached_property
    def names(self) -> list[str]:
        return self.form.names()

    def fetch(self, slots: Sequence[int]) -> list:
        found: dict[int, object] = {}
        for home in dict.fromkeys(self.homes[slot] for slot in slots):
            own = [slot for slot in slots if self.homes[slot] is home]
            found |= zip(own, home.fetch(own), strict=True)
        return [found[slot] for slot in slots]

    def move(self, slots: Sequence[int], home) -> None:
        for slot in slots:
            self.homes[slot] = home

    def are_at(self, home, slots: Sequence[int]) -> bool:
        """Whether that is the home of all of them."""
        return list(map(self.homes.__getitem__, slots)).count(home) == len(slots)

    def changed(self, slots: Sequence[int]) -> None:
        self.version += 1
        for slot in slots:
            self._changes[slot] = self.version

    def last_change(self, slots: Sequence[int]) -> int:
        return max(map(self._changes.__getitem__, slots), default=0)


class HostArrays:
    """Arrays of this process, by slot."""

    def __init__(self, arrays: Mapping[int, object]):
        self.arrays = arrays

    def fetch(self, slots: Sequence[int]) -> list:
        return [self.arrays[slot] for slot in slots]


class Lost:
    """Arrays that are nowhere any more."""

    def __init__(self, why: Exception):
        self._why = why

    def fetch(self, slots: Sequence[int]) -> list:
        raise MeshwrightError(f"the state is lost: {self._why}")


def _size(leaf) -> int:
    size = 1
    for dimension in leaf.shape:
        size *= dimension
    return size
