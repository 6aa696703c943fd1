"""A zoo model's step under an expert plan, for both sides of a comparison.

for case in cases(["gpt", "moe:expert"]):
    case.name                 # "gpt:dp"
    case.file                 # The sharding file's content.
    case.jitted(jax_mesh)     # jax.jit with the same shardings.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

DEVICES = 8


def use_virtual_devices(*flags: str) -> None:
    """Call before jax is imported."""
    flags = (f"--xla_force_host_platform_device_count={DEVICES}", *flags)
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags])
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


@dataclass(frozen=True)
class Case:
    model: str
    plan: str
    step: object  # zoo.Step
    module: object  # LoweredModule
    file: dict

    @property
    def name(self) -> str:
        return f"{self.model}:{self.plan}"

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Writes the module and the sharding file."""
        paths = folder / "step.hlo.pb", folder / "shardings.json"
        self.module.save(paths[0])
        paths[1].write_text(json.dumps(self.file))
        return paths

    @cached_property
    def shardings(self) -> dict:
        """Pytrees of NamedShardings: {"state": ..., "batch": ...}."""
        import jax
        from jax.sharding import NamedSharding, PartitionSpec
        from meshwright.naming import key_text
        from meshwright.shardings import named_shardings

        named = named_shardings(self.file, self.module, self._mesh)
        whole = NamedSharding(self._mesh, PartitionSpec())
        inputs = {"state": self.step.state_shapes, "batch": self.step.batch_shapes}
        return jax.tree_util.tree_map_with_path(
            lambda path, _: named.get("/".join(map(key_text, path)), whole), inputs
        )

    def jitted(self):
        """The step as jax partitions it, its state donated."""
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        state, batch = self.shardings["state"], self.shardings["batch"]
        loss = NamedSharding(self._mesh, PartitionSpec())
        return jax.jit(
            self.step.fn,
            in_shardings=(state, batch),
            out_shardings=(state, loss),
            donate_argnums=0,
        )

    @cached_property
    def _mesh(self):
        import jax

        sizes = self.file["mesh"]
        axis_types = (jax.sharding.AxisType.Auto,) * len(sizes)
        return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types)


def cases(chosen: list[str]) -> Iterator[Case]:
    """Of MODEL or MODEL:PLAN; by default every plan of every tiny model."""
    from meshwright.plans import plans_for
    from meshwright.zoo import MODELS, build

    for text in chosen or MODELS:
        model, _, plan = text.partition(":")
        step = build(model, "tiny")
        module = step.lower()
        for name, file in plans_for(module).items():
            if plan in ("", name):
                yield Case(model, name, step, module, file)
