"""Training state that stays where it is trained.

    state = step.init(init_fn, key)
    params, optimizer = state                # If init_fn returns a tuple of two.
    state["params"].fetch("wte")             # One array, on the host.
    state.fetch()                            # All, in the tree that init_fn returned.
    int(state["steps"]), {**state, "rate": 0.1}

A State stands for arrays of a Store. Giving it to a step hands it over, as jit does
with arguments that are donated: the step returns the next one.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from meshwright.arrays import Arrays, is_array, is_weak, struct_of
from meshwright.client.acts_as_array import ActsAsArray
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

    @cached_property
    def slot_set(self) -> frozenset[int]:
        return frozenset(self.own_slots)

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


class State(ActsAsArray):
    """Acts as the container it stands for, of States, or as the array: then it is
    fetched. `version` is that of the store's content it stands for."""

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

    def _as_array(self):
        if not self._is_array:
            raise TypeError(
                f"the state is a tree of {len(self._form.leaves)} arrays, not an "
                "array: fetch() gives them, and a step computes with them"
            )
        return self.fetch()

    @property
    def _is_array(self) -> bool:
        return is_array(self._form.value)

    def __eq__(self, other):
        return super().__eq__(other) if self._is_array else self is other

    def __ne__(self, other):
        return super().__ne__(other) if self._is_array else self is not other

    __hash__ = ActsAsArray.__hash__

    def __bool__(self) -> bool:
        return super().__bool__() if self._is_array else True

    def block_until_ready(self) -> "State":
        """At once: steps are awaited."""
        return self

    @property
    def names(self) -> list[str]:
        """Of its arrays, as `fetch` takes them."""
        return self._form.names()

    @property
    def shapes(self):
        """The tree with a `jax.ShapeDtypeStruct` for each array."""
        return self._form.value

    def __getitem__(self, key) -> "State":
        if self._is_array:
            return self._as_array()[key]
        self.require_current()
        try:
            return State(self._store, self._form.part(key), self._version)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise MeshwrightError(f"the state has no part {key!r}") from None

    def __contains__(self, key) -> bool:
        value = self._form.value
        return key in (value if isinstance(value, Mapping) else list(self))

    def __len__(self) -> int:
        return len(self._as_array() if self._is_array else self._form.value)

    def __getattr__(self, name: str):
        """`state.params`, of a named tuple, a data class or a model."""
        found = None if name.startswith("__") else self._attribute(name)
        if found is None:
            raise AttributeError(
                f"the state has no {name!r}: its arrays are where it is trained, "
                "fetch() gives them, and shapes what they are"
            )
        return found

    def _attribute(self, name: str):
        value = self._form.value
        with contextlib.suppress(AttributeError):
            if self._is_array:
                is_known = name in ("shape", "dtype", "size", "ndim")
                return getattr(value, name) if is_known else self._of_array(name)
            if isinstance(value, Mapping) and name in ("keys", "items", "values"):
                return getattr(Mapping, name).__get__(self)
            if name in ("replace", "_replace") and callable(getattr(value, name)):
                return getattr(self._divided(), name)
            part = self._form.attribute(name)
            self.require_current()
            return State(self._store, part, self._version)
        return None

    def _divided(self):
        """The container, with a State for each part of it that has arrays."""
        import jax

        def part(value):
            form = Form(value, self._form.slots)
            return State(self._store, form, self._version) if form.leaves else value

        value = self._form.value
        return jax.tree_util.tree_map(part, value, is_leaf=lambda x: x is not value)

    def __copy__(self) -> "State":
        """Arrays of its own, through the host: steps leave them alone."""
        return self.copied()

    def __deepcopy__(self, _) -> "State":
        return self.copied()

    def __reduce_ex__(self, _):
        raise MeshwrightError(
            "a state is not pickled: fetch() gives its arrays, and the step's save "
            "writes them"
        )

    def __iter__(self) -> Iterator:
        value = self._form.value
        if self._is_array or isinstance(value, Mapping):
            return iter(self._as_array() if self._is_array else value)
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
                "(state, metrics = step(state, batch)); if nothing in the result is "
                "its next value, say so: parallelize(..., state=())"
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

    def copied(self) -> "State":
        """On the host, in a store of its own."""
        self.require_current()
        form = Form.of(self._form.value)
        arrays = HostArrays(dict(enumerate(self._store.fetch(self.slots))))
        return State(Store(arrays, form), form, 0)

    @staticmethod
    def without_repeated(leaves: Sequence) -> Sequence:
        """With a copy of a State, from the host, where its arrays are there already: a
        step that takes both may change one of them."""
        states = [leaf for leaf in leaves if isinstance(leaf, State)]
        if len({id(state.store) for state in states}) == len(states):
            return leaves
        taken: dict[int, set[int]] = {}
        found = []
        for leaf in leaves:
            if isinstance(leaf, State):
                own = taken.setdefault(id(leaf.store), set())
                if not own.isdisjoint(leaf.form.slot_set):
                    leaf = leaf.copied()
                own |= leaf.form.slot_set
            found.append(leaf)
        return found

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
