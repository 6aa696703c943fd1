"""Meshwright's Python side: training steps in, HLO modules out.

    import jax, meshwright

    module = meshwright.lower(train_step, state, batch)
    module.save("step.hlo.pb.zst")

    plan = meshwright.load_plan("plan.json")     # of `meshwright plan`
    step = plan.jit(train_step, state, batch)    # on the plan's mesh

Importing this package loads neither JAX nor NumPy; `lower` does when called.
"""

from meshwright.errors import MeshwrightError, MeshwrightWarning
from meshwright.kernels import kernel
from meshwright.lowered_module import LoweredModule, Output, Parameter
from meshwright.lowering import lower
from meshwright.plan_file import load_plan

__all__ = [
    "LoweredModule",
    "MeshwrightError",
    "MeshwrightWarning",
    "Output",
    "Parameter",
    "kernel",
    "load_plan",
    "lower",
]
