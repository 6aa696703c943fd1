"""A call of a step: what of its arguments is state and what is data, and how its result
is put together.

All that depends on the form of the arguments alone (trees, shapes, dtypes) is found
once, by tracing; see `CallForm`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from meshwright.arrays import struct_of
from meshwright.batch_argument import Batch
from meshwright.client.changed_tree import require_no_twin, warn_of_other_tree
from meshwright.client.state import State
from meshwright.data import Dataset
from meshwright.errors import MeshwrightError
from meshwright.keys import key_wrapper
from meshwright.lowered_module import LoweredModule
from meshwright.lowering import lower_traced
from meshwright.pairing import Pairing
from meshwright.tracing import TracedStep, trace


@dataclass(frozen=True)
class Fetched:
    """In a result: the value of an output of the module."""

    output: int


@dataclass(frozen=True)
class Next:
    """In a result: the next value of a state, by its number in CallForm.states."""

    state: int


@dataclass(frozen=True, eq=False)
class StateArgument:
    """State that a call takes: a State, or a tree of arrays that comes back.

    `leaf` is its place among the call's leaves, None for a tree, whose arrays are at
    `arrays`; `within`: what the tree is called in an argument that has States, too. Its
    parameters, and their slots in the store, go together.
    """

    leaf: int | None
    parameters: list[str]
    slots: list[int]
    comes_back: bool
    in_place: bool = False
    arrays: list[int] = field(default_factory=list)
    tree: object = None
    within: str = ""


@dataclass(frozen=True, eq=False)
class CallForm:
    """`data`: by parameter name, the leaf that is its value; `fed`: by the leaf of a
    dataset, the array of it that each parameter is. `result`: a tree of Fetched, Next
    and what is static."""

    module: LoweredModule
    data: Mapping[str, int]
    fed: Mapping[int, Mapping[str, str]]
    states: Sequence[StateArgument]
    result: object
    fetch: Mapping[int, str]  # Of the outputs that are fetched, their names.
    wrap: Mapping[int, Callable]  # Of those that are PRNG keys.


def form_of(
    fn: Callable,
    leaves: Sequence,
    structure,
    platform: str,
    loss: int | str | None = None,
    batch: Batch = None,
    state=None,
    rules: str = "",
) -> CallForm:
    """Of the call whose arguments, States among them, have these leaves."""
    return _Reader(leaves, structure).read(fn, platform, loss, batch, state, rules)


def next_leaves(form: CallForm, leaves: Sequence, result) -> list:
    """The leaves of a call like this one, with the states of its result."""
    import jax

    after = list(leaves)
    values = jax.tree_util.tree_leaves(result)
    items = jax.tree_util.tree_leaves(form.result)
    for item, value in zip(items, values, strict=True):
        if not isinstance(item, Next):
            continue
        state = form.states[item.state]
        if state.leaf is None and not state.within:
            raise MeshwrightError(
                "many steps take a state: hand the arrays over, state = step.put(...)"
            )
        after[state.arrays[0] if state.leaf is None else state.leaf] = value
    return after


class _Reader:
    def __init__(self, leaves: Sequence, structure):
        self._leaves = leaves
        self._sources: dict[int, int] = {}  # Id of a struct -> leaf.
        self._keys: dict[int, str] = {}  # Id of a struct -> array of a dataset.
        self._structs = [self._stand_in(i, leaf) for i, leaf in enumerate(leaves)]
        self._args, self._kwargs = structure.unflatten(self._structs)

    def read(self, fn, platform, loss, batch, state, rules) -> CallForm:
        step = trace(fn, self._args, self._kwargs, as_call=True)
        if state is None and any(isinstance(leaf, State) for leaf in self._leaves):
            state = self._state_arguments(step)
        lowered = lower_traced(step, state, loss, batch, platform, rules=rules)
        sources = self._parameter_sources(step)
        names = [parameter.name for parameter in lowered.module.parameters]
        states = self._states(step, lowered.pairs, sources, names)
        of_states = {name for found in states for name in found.parameters}
        data, fed = {}, {}
        for i, (leaf, key) in sources.items():
            if isinstance(self._leaves[leaf], Dataset):
                fed.setdefault(leaf, {})[names[i]] = key
            elif names[i] not in of_states:
                data[names[i]] = leaf
        result = self._result(step, lowered, states, names)
        fetch, wrap = _fetched(result, step, lowered)
        return CallForm(lowered.module, data, fed, states, result, fetch, wrap)

    def _stand_in(self, index: int, leaf):
        if isinstance(leaf, State):
            self._sources |= dict.fromkeys(map(id, leaf.form.leaves), index)
            return leaf.form.value
        if isinstance(leaf, Dataset):
            structs = {key: struct_of(array) for key, array in leaf.shapes.items()}
            self._sources |= dict.fromkeys(map(id, structs.values()), index)
            self._keys |= {id(struct): key for key, struct in structs.items()}
            return structs
        struct = struct_of(leaf)
        self._sources[id(struct)] = index
        return struct

    def _parameter_sources(
        self, step: TracedStep
    ) -> dict[int, tuple[int, int | str | None]]:
        """By parameter: the leaf it comes from, and what of it: the slot of a State,
        the array of a dataset."""
        import jax

        flat = jax.tree_util.tree_leaves((step.call.args, step.call.kwargs))
        found = {}
        for parameter, struct in enumerate(flat):
            leaf = self._sources.get(id(struct))
            if leaf is None:
                raise MeshwrightError(
                    f"argument {parameter} of the step is not one of the call's arrays"
                )
            given = self._leaves[leaf]
            part = self._keys.get(id(struct))
            if isinstance(given, State):
                part = given.form.slots[id(struct)]
            found[parameter] = leaf, part
        return found

    def _is_state(self, leaf: int) -> bool:
        return isinstance(self._leaves[leaf], State)

    def _state_arguments(self, step: TracedStep) -> list[str]:
        """Those that hold States and come back."""
        sources = self._parameter_sources(step)
        in_place = {p for found in step.objects for p in found.parameters.values()}
        own = [
            argument
            for argument in step.arguments
            if any(self._is_state(sources[p][0]) for p in argument.parameters)
        ]
        changed = [one.name for one in own if in_place & set(one.parameters)]
        pairing = Pairing(step.result, step.outputs.start)
        rest = [one for one in own if one.name not in changed]
        paired = pairing.assign(rest, step.traced)
        for argument in rest:
            if argument.leaves and argument.name not in paired:
                require_no_twin(argument, step.result, pairing.taken)
                warn_of_other_tree(argument, step.result, pairing.taken)
        names = {*changed, *paired}
        return [one.name for one in own if one.name in names]

    def _states(self, step, pairs, sources, names) -> list[StateArgument]:
        in_place = {p for found in step.objects for p in found.parameters.values()}
        by_leaf: dict[int, list[int]] = {}
        for parameter, (leaf, _) in sources.items():
            if self._is_state(leaf):
                by_leaf.setdefault(leaf, []).append(parameter)
        found = [
            StateArgument(
                leaf=leaf,
                parameters=[names[p] for p in parameters],
                slots=[sources[p][1] for p in parameters],
                comes_back=all(p in pairs for p in parameters),
                in_place=any(p in in_place for p in parameters),
            )
            for leaf, parameters in by_leaf.items()
        ]
        for argument in step.arguments:
            own = [p for p in argument.parameters if not self._is_state(sources[p][0])]
            if not own or not all(p in pairs for p in own):
                continue
            # Beside States each array is one of its own.
            is_mixed = len(own) < len(argument.parameters)
            for part in [[p] for p in own] if is_mixed else [own]:
                first = argument.leaves[part[0] - argument.start]
                name = names[part[0]].removeprefix(f"{argument.name}/")
                found.append(
                    StateArgument(
                        leaf=None,
                        parameters=[names[p] for p in part],
                        slots=list(range(len(part))),
                        comes_back=True,
                        in_place=any(p in in_place for p in part),
                        arrays=[sources[p][0] for p in part],
                        tree=first if is_mixed else argument.tree,
                        within=name if is_mixed else "",
                    )
                )
        return found

    def _result(self, step, lowered, states, names):
        import jax

        places = {output: place for place, output in enumerate(lowered.outputs)}
        objects = [
            type(found.parameters)((key, Fetched(-1)) for key in found.outputs)
            for found in step.objects
        ]
        leaves = [Fetched(places[output]) for output in step.outputs]
        structure = jax.tree_util.tree_structure(step.result)
        tree = jax.tree_util.tree_unflatten(structure, leaves)
        _, value = step.call.after.restore((objects, tree))
        number_of = {name: p for p, name in enumerate(names)}
        nexts = {
            tuple(lowered.pairs[number_of[name]] for name in found.parameters): i
            for i, found in enumerate(states)
            if found.comes_back
        }

        values = [
            found.tree if found.leaf is None else self._leaves[found.leaf].form.value
            for found in states
        ]
        trees = list(map(jax.tree_util.tree_structure, values))

        def number(part) -> int | None:
            found = nexts.get(_outputs(part))
            is_wrapped = found is not None and _wraps(part, trees[found])
            return None if is_wrapped else found

        return jax.tree_util.tree_map(
            lambda part: part if number(part) is None else Next(number(part)),
            value,
            is_leaf=lambda part: _is_fetched(part) or number(part) is not None,
        )


def _is_fetched(part) -> bool:
    return isinstance(part, Fetched)


def _outputs(part) -> tuple[int, ...]:
    import jax

    leaves = jax.tree_util.tree_leaves(part, is_leaf=_is_fetched)
    return tuple(leaf.output for leaf in leaves if _is_fetched(leaf))


def _wraps(part, tree) -> bool:
    """Whether it is not itself of this structure, but holds what is, and no more."""
    import jax

    def is_of_tree(value) -> bool:
        return jax.tree_util.tree_structure(value, is_leaf=_is_fetched) == tree

    if is_of_tree(part) or _is_fetched(part):
        return False
    outputs = _outputs(part)
    children = jax.tree_util.tree_leaves(part, is_leaf=lambda x: x is not part)
    alike = [child for child in children if _outputs(child) == outputs]
    return any(is_of_tree(child) or _wraps(child, tree) for child in alike)


def _fetched(result, step, lowered) -> tuple[dict[int, str], dict[int, Callable]]:
    import jax

    outputs = jax.tree_util.tree_leaves(step.traced.out_info)
    leaves = jax.tree_util.tree_leaves(result, is_leaf=_is_fetched)
    found = sorted({leaf.output for leaf in leaves if _is_fetched(leaf)})
    wrap = {
        i: key_wrapper(outputs[lowered.outputs[i]])
        for i in found
        if lowered.module.outputs[i].key
    }
    return {i: lowered.module.outputs[i].name for i in found}, wrap
