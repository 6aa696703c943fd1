"""Meshwright's Python side: training steps in, HLO modules out.

    import jax, meshwright

    module = meshwright.lower(train_step, state, batch)
    module.save("step.hlo.pb.zst")

Importing this package loads neither JAX nor NumPy; `lower` does when called.
"""

from meshwright.errors import MeshwrightError
from meshwright.lowered_module import LoweredModule, Output, Parameter
from meshwright.lowering import lower

__all__ = ["LoweredModule", "MeshwrightError", "Output", "Parameter", "lower"]
