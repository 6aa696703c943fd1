"""Meshwright's Python side: a training step for one device, run on a cluster.

    import jax, meshwright

    step = meshwright.parallelize(train_step, cluster="cpu:8")
    state = step.init(init_fn, jax.random.key(0))
    state, metrics = step(state, batch)

or in parts: training steps in, HLO modules out, plans back.

    module = meshwright.lower(train_step, state, batch)
    module.save("step.hlo.pb.zst")

    plan = meshwright.load_plan("plan.json")     # of `meshwright plan`
    step = plan.jit(train_step, state, batch)    # on the plan's mesh

Importing this package loads neither JAX nor NumPy; `lower` does when called.
"""

from meshwright import data, metrics
from meshwright.client.parallel import ParallelStep, parallelize
from meshwright.client.state import State
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
    "ParallelStep",
    "Parameter",
    "State",
    "data",
    "kernel",
    "load_plan",
    "lower",
    "metrics",
    "parallelize",
]
