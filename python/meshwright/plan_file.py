"""Plans of `meshwright plan -o FILE`, for use in jax.

    plan = meshwright.load_plan("plan.json")
    plan.predicted.step_seconds, plan.collectives[0].kind

    split = plan.shardings(train_step, state, batch)
    step = jax.jit(train_step, in_shardings=split.arguments,
                   out_shardings=split.results)

`shardings` are those of the step's arguments and results; what happens between them is
then jax's own choice, not the plan's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from meshwright.errors import MeshwrightError, first_line
from meshwright.shardings import mesh_of_first, named_sharding

FORMAT = 1


@dataclass(frozen=True)
class Prediction:
    """Of one step, on each device; `origin` tells how the rates are known."""

    step_seconds: float
    compute_seconds: float
    comm_seconds: float
    exposed_comm_seconds: float
    comm_bytes: float
    peak_bytes: int
    origin: str


@dataclass(frozen=True)
class Collective:
    """`count` collectives per step on `bytes` of each device."""

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
    have the trees of the function's arguments and of its result; without a function
    they are flat lists.
    """

    arguments: object
    results: object
    parameters: dict
    outputs: dict


@dataclass(frozen=True)
class Plan:
    """What a plan file says; `json` is all of it, as docs/formats.md tells."""

    path: str
    json: Mapping
    devices: Sequence | None = None

    @property
    def axes(self) -> dict[str, int]:
        """{"data": 4, "model": 2}, major to minor."""
        return dict(self.json["mesh"])

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
        """The jax Mesh, of the devices given to `load_plan` or else the first."""
        return mesh_of_first(self.axes, self.devices)

    def shardings(self, fn: Callable | None = None, *args) -> Shardings:
        """For `jax.jit(fn, in_shardings=.arguments, out_shardings=.results)`.

        `args` are the positional arguments, arrays or shapes, with which the step was
        lowered. Raises MeshwrightError when they are not those of the plan's module,
        and for what jax cannot express (stages, strided and uneven splits).
        """
        stages = self.json.get("stages", 1)
        if stages > 1:
            raise MeshwrightError(
                f"{self.path}: the plan has {stages} stages, jax.jit one "
                "program for all devices; plan with --stages 1, or use meshwright run"
            )
        parameters = self._named("parameters")
        outputs = self._named("outputs")
        if fn is None:
            flat = list(parameters.values()), list(outputs.values())
            return Shardings(*flat, parameters, outputs)
        import jax

        try:
            result = jax.eval_shape(fn, *args)
        except Exception as error:
            raise MeshwrightError(
                f"{self.path}: jax cannot trace the function: {first_line(error)}"
            ) from error
        return Shardings(
            self._like(args, "parameters", parameters),
            self._like(result, "outputs", outputs),
            parameters,
            outputs,
        )

    def _named(self, section: str) -> dict:
        return {
            tensor["name"]: named_sharding(
                tensor["name"], tensor["sharding"], tensor["dimensions"], self.mesh
            )
            for tensor in self.json["tensors"][section]
        }

    def _like(self, tree, section: str, shardings: dict):
        """The shardings in the form of `tree`, which has their tensors as leaves."""
        import jax
        import numpy as np

        leaves, treedef = jax.tree_util.tree_flatten(tree)
        tensors = self.json["tensors"][section]
        if len(leaves) != len(tensors):
            raise MeshwrightError(
                f"{self.path}: the plan is for {len(tensors)} {section}, "
                f"the function has {len(leaves)}"
            )
        for leaf, tensor in zip(leaves, tensors, strict=True):
            if list(np.shape(leaf)) != tensor["dimensions"]:
                raise MeshwrightError(
                    f"{self.path}: {tensor['name']} is {tensor['dimensions']}, "
                    f"the function's is {list(np.shape(leaf))}"
                )
        return jax.tree_util.tree_unflatten(treedef, shardings.values())


def load_plan(path: str | Path, *, devices: Sequence | None = None) -> Plan:
    """Reads a plan; `devices` are the jax devices to use, by default the first ones.

    Raises MeshwrightError, in one line, for files that are no plans.
    """
    try:
        content = json.loads(Path(path).read_text())
    except OSError as error:
        raise MeshwrightError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise MeshwrightError(f"{path}: this is no plan: not JSON") from error
    if not isinstance(content, dict) or "format" not in content:
        raise MeshwrightError(f"{path}: this is no plan: it has no format")
    if content["format"] != FORMAT:
        raise MeshwrightError(
            f"{path}: a plan of format {content['format']}; this version reads {FORMAT}"
        )
    missing = [
        key
        for key in ("mesh", "micro_batches", "predicted", "collectives", "tensors")
        if key not in content
    ]
    if missing:
        raise MeshwrightError(f"{path}: this is no plan: it has no {missing[0]}")
    return Plan(str(path), content, devices)


def _read(kind: type, values: Mapping):
    """Newer files may say more."""
    return kind(**{field.name: values[field.name] for field in fields(kind)})
