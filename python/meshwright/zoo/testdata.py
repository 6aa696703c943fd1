"""Writes the files under testdata/: every tiny model lowered, and the demo's initial
state."""

from collections.abc import Iterator
from pathlib import Path

import jax

from meshwright.tensors import save_tensors
from meshwright.zoo import MODELS, build


def write_testdata(directory: Path, models: list[str], suffix: str) -> Iterator[Path]:
    """Writes `<model>_tiny<suffix>.hlo.pb.zst` for each model; yields the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    # No source locations: they would contain the paths of whoever ran this.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    for model in models or MODELS:
        name = model.replace("-", "_")
        path = directory / f"{name}_tiny{suffix}.hlo.pb.zst"
        build(model, "tiny").lower().save(path)
        yield path


def write_demo_state(directory: Path) -> Path:
    """The initial state of the demo's gpt, with seed 0."""
    path = directory / "gpt_tiny_init.safetensors"
    save_tensors(path, state=build("gpt", "tiny").init_state(seed=0))
    return path
