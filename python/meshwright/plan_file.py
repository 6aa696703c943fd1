"""Plans written by `meshwright plan -o FILE`, for use in jax.

    plan = meshwright.load_plan("plan.json")
    plan.predicted.step_seconds, plan.collectives[0].kind

    step = plan.jit(train_step, state, batch)       # called as train_step is
    state, loss = step(state, batch)

or with explicit shardings:

    split = plan.shardings(train_step, state, batch)
    step = jax.jit(train_step, in_shardings=split.arguments,
                   out_shardings=split.results)

Shardings are those of the step's arguments and results; between them, jax chooses
shardings itself and does not follow the plan.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.files import read_bytes
from meshwright.keys import is_key, raw_shape
from meshwright.naming import leaf_names
from meshwright.shardings import first_dimensions, mesh_of_first, named_sharding
from meshwright.tracing import TracedStep, trace

FORMAT = 4


@dataclass(frozen=True)
class Prediction:
    """Of one step, on each device; `origin` says how the rates were obtained."""

    step_seconds: float
    compute_seconds: float
    comm_seconds: float
    exposed_comm_seconds: float
    comm_bytes: float
    peak_bytes: int
    origin: str


@dataclass(frozen=True)
class Collective:
    """`count` collectives per step, each on `bytes` of every device."""

    kind: str
    axes: str
    tensor: str
    devices: int
    bytes: int
    wire_bytes: float
    count: float


@dataclass(frozen=True)
class Shardings:
    """NamedShardings of a step.

    `parameters` and `outputs` are by name, in flat order. `arguments` and `results`
    have the trees of the function's arguments and of its result, for `jax.jit`; an nnx
    object has a StateSharding, for `nnx.jit`, and static values None. Without a
    function they are flat lists, and PRNG keys are the integers that they consist of.
    """

    arguments: object
    results: object
    parameters: dict
    outputs: dict


@dataclass(frozen=True)
class Plan:
    """The content of a plan file; `json` is all of it, as described in
    docs/formats.md."""

    path: str
    json: Mapping
    devices: Sequence | None = None

    def __repr__(self) -> str:
        axes = ",".join(f"{name}={size}" for name, size in self.axes.items())
        stages = self.json.get("stages", 1)
        each = f"{stages} stages, each on " if stages > 1 else ""
        return (
            f"<Plan {self.path}: {each}mesh {axes}, micro-batches "
            f"{self.micro_batches}, step {self.predicted.step_seconds:.3g} s predicted>"
        )

    @property
    def axes(self) -> dict[str, int]:
        """{"data": 4, "model": 2}, major to minor."""
        return dict(self.json["layouts"][0]["mesh"])

    @property
    def micro_batches(self) -> int:
        return self.json["micro_batches"]

    @cached_property
    def predicted(self) -> Prediction:
        return _read(Prediction, self.json["predicted"])

    @cached_property
    def collectives(self) -> list[Collective]:
        return [_read(Collective, one) for one in self.json["collectives"]]

    @cached_property
    def mesh(self):
        """The jax Mesh of the devices given to `load_plan`, by default of the first
        ones."""
        return mesh_of_first(self.axes, self.devices)

    def shardings(
        self,
        fn: Callable | None = None,
        *args,
        kwargs: Mapping[str, object] | None = None,
        static_argnums: int | Sequence[int] | None = None,
    ) -> Shardings:
        """Shardings for `jax.jit(fn, in_shardings=.arguments, out_shardings=.results)`.

        The arguments, arrays or shapes, are those with which the step was lowered.
        Raises MeshwrightError if they are not those of the plan's module, and for plans
        that jax cannot express (stages, strided and uneven splits).
        """
        self._require_one_stage()
        if fn is None:
            parameters, outputs = self._named("parameters"), self._named("outputs")
            flat = list(parameters.values()), list(outputs.values())
            return Shardings(*flat, parameters, outputs)
        step = self._trace(fn, args, kwargs, static_argnums)
        (positional, keyword), (objects, results), named = self._of_step(step)
        if step.call is not None:
            call = step.call
            positional, keyword = call.arrays.shardings((positional, keyword))
            positional = [x for i, x in enumerate(positional) if i not in call.static]
            _, results = call.after.shardings((objects, results))
        return Shardings(
            (*positional, *(keyword[key] for key in sorted(keyword))), results, *named
        )

    def jit(
        self,
        fn: Callable,
        *args,
        kwargs: Mapping[str, object] | None = None,
        static_argnums: int | Sequence[int] | None = None,
        donate: bool = False,
    ) -> Callable:
        """`fn` as one program on the plan's mesh, called like `fn`.

        Works for functions of jax, nnx (objects are updated in place) and equinox,
        jitted or not; arguments that are elsewhere are transferred. `args` are those
        with which the step was lowered, or else those of the first call; static values
        stay as they are in them. With `donate`, the state passed to a call is donated:
        it is no longer valid afterwards, and its memory is reused, as the plan's
        prediction assumes.
        """
        self._require_one_stage()
        if args or kwargs:
            return self._planned(fn, args, kwargs, static_argnums, donate)
        made: list[Callable] = []

        def call(*args, **kwargs):
            if not made:
                made.append(self._planned(fn, args, kwargs, static_argnums, donate))
            return made[0](*args, **kwargs)

        return call

    def _planned(self, fn, args, kwargs, static_argnums, donate) -> Callable:
        import jax

        from meshwright.planned_step import PlannedStep

        step = self._trace(fn, args, kwargs, static_argnums, as_call=True)
        arguments, results, _ = self._of_step(step)
        leaves = jax.tree_util.tree_leaves(arguments)
        return PlannedStep(fn, step, leaves, results, donate)

    def _require_one_stage(self) -> None:
        stages = self.json.get("stages", 1)
        if stages > 1:
            raise MeshwrightError(
                f"{self.path}: the plan has {stages} stages, jax.jit one "
                "program for all devices; plan with --stages 1, or use meshwright run"
            )

    def _trace(self, fn, args, kwargs, static, as_call=False) -> TracedStep:
        try:
            return trace(fn, args, dict(kwargs or {}), None, static, as_call)
        except MeshwrightError as error:
            raise MeshwrightError(f"{self.path}: {error}") from error

    def _of_step(self, step: TracedStep):
        """The shardings in the structures of the traced function's arguments, of its
        objects and of its result; and by name."""
        import jax

        leaves = [leaf for arg in step.arguments for leaf in arg.leaves]
        parameters = self._like(leaves, "parameters")
        names = [n for arg in step.arguments for n in leaf_names(arg.tree, arg.name)]
        by_name = dict(zip(names, parameters, strict=True))
        arguments = jax.tree_util.tree_unflatten(
            jax.tree_util.tree_structure(step.traced.args_info), parameters
        )
        # The contents of nnx objects come first; those that are not state are no
        # outputs.
        own = len(self.json["tensors"]["outputs"]) - len(step.outputs)
        outputs = self._like(jax.tree_util.tree_leaves(step.result), "outputs", own)
        objects = [
            jax.tree_util.tree_unflatten(
                jax.tree_util.tree_structure(found.parameters),
                [parameters[i] for i in found.parameters.values()],
            )
            for found in step.objects
        ]
        results = jax.tree_util.tree_unflatten(
            jax.tree_util.tree_structure(step.result), outputs
        )
        tensors = self.json["tensors"]["outputs"]
        by_output = {t["name"]: by_name.get(t["name"]) for t in tensors[: max(own, 0)]}
        for tensor, sharding in zip(tensors[max(own, 0) :], outputs, strict=True):
            by_output[tensor["name"]] = sharding
        return arguments, (objects, results), (by_name, by_output)

    def _named(self, section: str) -> dict:
        return {
            tensor["name"]: named_sharding(
                tensor["name"], tensor["sharding"], tensor["dimensions"], self.mesh
            )
            for tensor in self.json["tensors"][section]
        }

    def _like(self, leaves: Sequence, section: str, skipped: int = 0) -> list:
        """The shardings of the leaves, which correspond to the section's tensors in
        order, except for the first `skipped`."""
        tensors = self.json["tensors"][section]
        if skipped < 0 or len(leaves) != len(tensors) - skipped:
            raise MeshwrightError(
                f"{self.path}: the plan is for {len(tensors)} {section}, "
                f"the function has {len(leaves)}"
            )
        shardings = list(self._named(section).values())[skipped:]
        for i, (leaf, tensor) in enumerate(zip(leaves, tensors[skipped:], strict=True)):
            if list(raw_shape(leaf)) != tensor["dimensions"]:
                raise MeshwrightError(
                    f"{self.path}: {tensor['name']} is {tensor['dimensions']}, "
                    f"the function's is {list(raw_shape(leaf))}"
                )
            if is_key(leaf):
                shardings[i] = first_dimensions(shardings[i], len(leaf.shape))
        return shardings


def load_plan(path: str | Path, *, devices: Sequence | None = None) -> Plan:
    """Reads a plan; `devices` are the jax devices to use, by default the first ones.

    Raises MeshwrightError, in one line, for files that are not plans.
    """
    try:
        content = json.loads(read_bytes(path))
    except MeshwrightError:
        raise
    except ValueError as error:
        raise MeshwrightError(f"{path}: this is no plan: not JSON") from error
    if not isinstance(content, dict) or "format" not in content:
        raise MeshwrightError(f"{path}: this is no plan: it has no format")
    if content["format"] != FORMAT:
        raise MeshwrightError(
            f"{path}: a plan of version {content['format']}; this is {FORMAT}"
        )
    missing = [
        key
        for key in ("layouts", "micro_batches", "predicted", "collectives", "tensors")
        if key not in content
    ]
    if missing:
        raise MeshwrightError(f"{path}: this is no plan: it has no {missing[0]}")
    return Plan(str(path), content, devices)


def _read(kind: type, values: Mapping):
    """Ignores fields that newer versions may add."""
    return kind(**{field.name: values[field.name] for field in fields(kind)})
