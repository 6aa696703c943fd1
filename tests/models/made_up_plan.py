"""A plan file for any module on 8 devices, made without the planner.

Data and keys are split by their first dimension, over `data`; all else by its last,
over `model`, if that divides. Mixed splits are left to the planner: some are beyond
the XLA of older versions of jax.
"""

import json
from pathlib import Path

from meshwright.plan_file import FORMAT

AXES = {"data": 4, "model": 2}
_PREDICTED = ("step_seconds", "compute_seconds", "comm_seconds", "comm_bytes")


def write_plan(module, path: Path, axes: dict | None = None) -> None:
    """`module` is a LoweredModule; by default for the axes AXES."""
    axes = axes or AXES
    predicted = dict.fromkeys((*_PREDICTED, "exposed_comm_seconds", "peak_bytes"), 1)
    tensors = {"parameters": module.parameters, "outputs": module.outputs}
    plan = {
        "format": FORMAT,
        "layouts": [{"mesh": axes}],
        "stages": 1,
        "micro_batches": 1,
        "predicted": predicted | {"origin": "assumed"},
        "collectives": [],
        "tensors": {
            section: [
                {
                    "name": t.name,
                    "dimensions": list(t.shape),
                    "sharding": _split(t, axes),
                }
                for t in listed
            ]
            for section, listed in tensors.items()
        },
    }
    path.write_text(json.dumps(plan))


def _split(tensor, axes: dict) -> str:
    dims = ["-"] * len(tensor.shape)
    by_batch = tensor.key or getattr(tensor, "role", "") == "data"
    place, axis = (0, "data") if by_batch else (-1, "model")
    if dims and tensor.shape[place] % axes[axis] == 0:
        dims[place] = axis
    return f"[{', '.join(dims)}]"
