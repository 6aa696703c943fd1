"""The Python side of Meshwright: runs a training step for one device on a cluster.

    import jax, meshwright

    step = meshwright.parallelize(train_step, cluster="cpu:8")
    state = step.init(init_fn, jax.random.key(0))
    state, metrics = step(state, batch)

or in separate steps: a training step is lowered to an HLO module, `meshwright plan`
makes a plan for it, and jax runs the step with the plan's shardings.

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
