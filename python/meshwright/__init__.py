"""Meshwright's Python side: training steps in, HLO modules out.

    import jax, meshwright

    module = meshwright.lower(train_step, state, batch)
    module.save("step.hlo.pb.zst")

    plan = meshwright.load_plan("plan.json")     # of `meshwright plan`

Importing this package loads neither JAX nor NumPy; `lower` does when called.
"""

from meshwright.errors import MeshwrightError
from meshwright.lowered_module import LoweredModule, Output, Parameter
from meshwright.lowering import lower
from meshwright.plan_file import load_plan

__all__ = [
    "LoweredModule",
    "MeshwrightError",
    "Output",
    "Parameter",
    "load_plan",
    "lower",
]
