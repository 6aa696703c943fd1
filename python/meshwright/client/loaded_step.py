"""A job that runs the calls of one form, and the states that live in it."""

import contextlib
import itertools
import math
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from meshwright.client.call_form import CallForm, Next, StateArgument
from meshwright.client.channel import Service
from meshwright.client.host_arrays import dtype_of, given_array, host_array
from meshwright.client.initial_state import require_arrays
from meshwright.client.messages import StepDone
from meshwright.client.prefetch import Prefetch
from meshwright.client.seeds import state_keys
from meshwright.client.state import Form, HostArrays, Lost, State, Store
from meshwright.data import Dataset
from meshwright.errors import MeshwrightError
from meshwright.lowered_module import Output, Parameter
from meshwright.metrics.scalars import scalar_names


class LoadedStep:
    """`number` is the job's; it is the home of the stores whose arrays are in it."""

    def __init__(self, service: Service, number: int, form: CallForm, platform: str):
        import jax

        self._service, self.number, self._form = service, number, form
        self._platform = platform
        self._tenants: dict[int, Tenant] = {}  # By the number of the state.
        self._items, self._structure = jax.tree_util.tree_flatten(form.result)
        outputs = form.module.outputs
        self._fetch = {name: _bytes(outputs[i]) for i, name in form.fetch.items()}
        self._sizes = {one.name: _bytes(one) for one in form.module.parameters}
        self.is_loaded = True
        self._is_saving = False  # In the background.
        self._fed: tuple | None = None  # A dataset, and its position.
        self.position: int | None = None  # Of the dataset.
        self.done: list[StepDone] = []  # Of the last call.
        self.scalars: dict[str, float] = {}  # Of its result, for metrics.
        self._scalars = scalar_names(form.module, form.fetch)
        self._numbers = itertools.count(1)  # Of batches that are staged.
        self._taken = 0  # By steps: those below are dropped.
        self._can_stage = True

    def __call__(
        self,
        leaves: Sequence,
        count: int = 1,
        is_safe: bool = False,
        prefetches: Iterable[Prefetch] = (),
    ):
        """The result of the last of so many steps; `is_safe`: Ctrl-C waits. Arguments
        that come from one of `prefetches` may be staged."""
        states = self._settle(leaves)
        staged = self._staged(leaves, prefetches)
        data = self._data(leaves, staged.names if staged else ())
        for leaf, arrays in self._form.fed.items():
            self._feed(leaves[leaf], arrays)
        step = self._service.step if is_safe else self._service.step_apart
        batch = self._taken = staged.number if staged else self._taken
        self.done, fetched = step(
            self.number, data, count, self._fetch, batch if staged else 0
        )
        for leaf in self._form.fed:
            dataset = leaves[leaf]
            dataset.seek(dataset.position + count * dataset.batch)
            self._fed = dataset, dataset.position
            self.position = dataset.position
        self.scalars = {n: fetched[name].item() for name, n in self._scalars.items()}
        return self._result(self._after(states), fetched)

    def stage(self, arrays: Mapping[str, object]) -> "Staged | None":
        """Transfers data of a later step while others run, by parameter; on any thread.
        None: they go with the step."""
        given = {name: given_array(array) for name, array in arrays.items()}
        size = sum(array.nbytes for array in given.values())
        if not (self._can_stage and self.is_loaded):
            return None
        if size < self._service.staged_bytes:
            return None
        staged = Staged(self, next(self._numbers), frozenset(arrays))
        try:
            self._service.stage(self.number, staged.number, given)
        except MeshwrightError:
            self._can_stage = False  # What goes with the steps has errors of theirs.
            raise
        return staged

    def _staged(
        self, leaves: Sequence, prefetches: Iterable[Prefetch]
    ) -> "Staged | None":
        """What of the arguments is there already. Sees to it that batches like theirs
        will be."""
        for prefetch in prefetches:
            item = prefetch.find(leaves)
            if item is None:
                continue
            data = {name: item.place(leaves[i]) for name, i in self._form.data.items()}
            names = {name: place for name, place in data.items() if place is not None}
            if names:
                prefetch.stage_for(self, item, names)
            staged = item.staged
            if staged is None or staged.step is not self:
                continue
            # As it was staged; a batch that is used again is sent again.
            if staged.number > self._taken and staged.names == names.keys():
                return staged
        return None

    def _data(self, leaves: Sequence, staged: Iterable[str]) -> dict[str, object]:
        try:
            return {
                name: given_array(leaves[i])
                for name, i in self._form.data.items()
                if name not in staged
            }
        except TypeError:
            for name, i in self._form.data.items():
                require_arrays(leaves[i], name)
            raise

    def save(self, directory: str, step: int, keep: int, extra: dict, wait: bool):
        """A checkpoint of its state, with what is known of it here."""
        self.await_saved()
        names, leaves, repeated = {}, {}, set()
        for number, tenant in self._tenants.items():
            if self._form.states[number].comes_back:
                if not tenant.is_at_home():
                    raise MeshwrightError(
                        "another step has the state now: save it with that one"
                    )
                own = tenant.names()
                repeated |= names.keys() & own.keys()
                names |= own
                leaves |= {own[name]: leaf for name, leaf in tenant.leaves().items()}
        # What several states call so is found by the names of their arguments.
        names = {name: own for name, own in names.items() if name not in repeated}
        by_parameter = {own: name for name, own in names.items()}
        leaves = {by_parameter.get(own, own): leaf for own, leaf in leaves.items()}
        rng = {**extra["rng"], "state": state_keys(leaves)}
        extra = {**extra, "names": names, "rng": rng}
        if self.position is not None:
            extra["data"] = {"position": self.position}
        self._is_saving = not wait
        self._service.save(self.number, directory, step, keep, extra, wait)

    def await_saved(self) -> None:
        """Raises what became of a checkpoint that is written meanwhile, if one is."""
        if self._is_saving:
            self._is_saving = False
            self._service.await_saved(self.number)

    def fetch(self, names: Sequence[str]) -> dict[str, object]:
        wanted = {name: self._sizes[name] for name in names}
        return self._service.fetch(self.number, wanted)

    def close(self) -> None:
        """Its states go to the host."""
        if not self.is_loaded:
            return
        for tenant in self._tenants.values():
            tenant.move_out()
        self._tenants = {}
        self.is_loaded = False
        with contextlib.suppress(MeshwrightError):  # Of a place that is gone.
            self._service.stop(self.number)

    def _after(self, states: Sequence[State]) -> list[State]:
        """The states that a step has left behind."""
        after = []
        for argument, state in zip(self._form.states, states, strict=True):
            if argument.comes_back:
                state.store.changed(argument.slots)
                if argument.in_place:
                    state.renew()
                state = State(state.store, state.form, state.store.version)
            after.append(state)
        return after

    def _result(self, states: Sequence[State], fetched: Mapping[str, object]):
        from meshwright.client.output import Output

        form, values = self._form, []
        for item in self._items:
            if isinstance(item, Next):
                values.append(states[item.state])
                continue
            output = getattr(item, "output", None)
            if output is None:
                values.append(item)
                continue
            array = fetched[form.fetch[output]]
            wrap = form.wrap.get(output)
            values.append(wrap(array) if wrap else array.view(Output))
        return self._structure.unflatten(values)

    def _feed(self, dataset: Dataset, arrays: Mapping[str, str]) -> None:
        """Sees to it that the workers read on from where the dataset is."""
        if self._fed is None or self._fed != (dataset, dataset.position):
            self._fed = None
            self._service.feed(self.number, dataset.spec(arrays), dataset.position)

    def _settle(self, leaves: Sequence) -> list[State]:
        """Sees to it that the arrays of all states are in the job."""
        states = [self._state(argument, leaves) for argument in self._form.states]
        strangers = [i for i, state in enumerate(states) if not self._has(i, state)]
        for number in strangers:
            tenant = self._tenants.pop(number, None)
            # Of the same store, what is here is where it belongs.
            if tenant is not None and not tenant.is_in(states[number].store):
                tenant.move_out()
        for number in self._fill_together(strangers, states):
            self._bring(self._form.states[number], states[number].store)
        for number in strangers:
            argument = self._form.states[number]
            self._tenants[number] = Tenant(self, argument, states[number])
        return states

    def _state(self, argument: StateArgument, leaves: Sequence) -> State:
        if argument.leaf is not None:
            leaves[argument.leaf].require_current()
            return leaves[argument.leaf]
        arrays = [host_array(leaves[i]) for i in argument.arrays]
        within = argument.within
        whole = Form.of({within: argument.tree} if within else argument.tree)
        store = Store(HostArrays(dict(enumerate(arrays))), whole)
        return State(store, whole.part(within) if within else whole, 0)

    def _has(self, number: int, state: State) -> bool:
        tenant = self._tenants.get(number)
        return tenant is not None and tenant.is_of(state)

    def _fill_together(
        self, strangers: Sequence[int], states: Sequence[State]
    ) -> list[int]:
        """All that comes back, if it is what one function computes or one checkpoint
        holds; gives the others."""
        own = [i for i, one in enumerate(self._form.states) if one.comes_back]
        if not own or not set(own) <= set(strangers):
            return list(strangers)
        found = {}
        for number in own:
            argument, store = self._form.states[number], states[number].store
            for name, slot in zip(argument.parameters, argument.slots, strict=True):
                found[name] = store.homes[slot], slot
        homes = {home: {} for home, _ in found.values()}
        sources = {getattr(home, "source", None) for home in homes}
        if len(sources) > 1 or None in sources:
            return list(strangers)
        for parameter in self._form.module.parameters:
            if parameter.name in found:
                home, slot = found[parameter.name]
                homes[home][parameter.name] = slot
        next(iter(homes)).fill(self._service, self.number, homes, self._platform)
        return [number for number in strangers if number not in own]

    def _bring(self, argument: StateArgument, store: Store) -> None:
        """The arrays of a store: from jobs beside this one there, all others from
        this process."""
        moved: dict[LoadedStep, list[tuple[str, str]]] = {}
        sent = {}
        for slot, name in zip(argument.slots, argument.parameters, strict=True):
            home = store.homes[slot]
            step = home.step if isinstance(home, Tenant) else None
            if step is self and home.parameter(slot) == name:
                continue
            if step is not None and step is not self and self._is_beside(step):
                moved.setdefault(step, []).append((home.parameter(slot), name))
            else:
                sent[name] = slot
        for step, pairs in moved.items():
            self._service.move(step.number, self.number, pairs, argument.comes_back)
        if sent:
            arrays = store.fetch(list(sent.values()))
            self._service.init(self.number, zip(sent, arrays, strict=True))

    def _is_beside(self, other: "LoadedStep") -> bool:
        return other.is_loaded and other._service is self._service


@dataclass(frozen=True)
class Staged:
    """Data that are on their way to a step, under a number."""

    step: LoadedStep
    number: int
    names: frozenset[str]  # Of parameters.


def _bytes(array: Parameter | Output) -> int:
    return math.prod(array.shape) * dtype_of(array.dtype).itemsize


class Tenant:
    """Arrays of a store that are in a job: if they come back, nowhere else."""

    def __init__(self, step: LoadedStep, argument: StateArgument, state: State):
        self.step, self._argument = step, argument
        self._names = dict(zip(argument.slots, argument.parameters, strict=True))
        self._store = weakref.ref(state.store)
        self._version = state.store.version
        if argument.comes_back:
            state.store.move(argument.slots, self)

    def is_of(self, state: State) -> bool:
        store, slots = state.store, self._argument.slots
        if self._store() is not store:
            return False
        if self._argument.comes_back:
            return store.are_at(self, slots)
        return store.last_change(slots) <= self._version

    def is_at_home(self) -> bool:
        """Whether its arrays are nowhere else, as far as they are wanted."""
        store = self._store()
        return store is None or store.are_at(self, self._argument.slots)

    def is_in(self, store: Store) -> bool:
        return self._store() is store

    def parameter(self, slot: int) -> str:
        """That holds this array of the store."""
        return self._names[slot]

    def names(self) -> dict[str, str]:
        """Of the store's arrays, the parameters that hold them."""
        store = self._store()
        if store is None:
            return {}
        return {store.names[slot]: name for slot, name in self._names.items()}

    def leaves(self) -> dict[str, object]:
        """The same arrays, by their names in the store."""
        store = self._store()
        if store is None:
            return {}
        return {store.names[slot]: store.form.leaves[slot] for slot in self._names}

    def fetch(self, slots: Sequence[int]) -> list:
        names = [self._names[slot] for slot in slots]
        arrays = self.step.fetch(names)
        return [arrays[name] for name in names]

    def move_out(self) -> None:
        """To the host, what would be lost with the job."""
        store = self._store()
        if store is None:
            return
        slots = [slot for slot in self._names if store.homes[slot] is self]
        if not slots:
            return
        try:
            arrays = dict(zip(slots, self.fetch(slots), strict=True))
            store.move(slots, HostArrays(arrays))
        except MeshwrightError as error:
            store.move(slots, Lost(error))
