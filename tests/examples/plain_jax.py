"""`meshwright.parallelize` as jax alone does it: on one device, in this process."""

import equinox as eqx
import jax
import numpy as np
from flax import nnx


class PlainStep:
    """As much of a ParallelStep as the examples use."""

    plan = "one device"

    def __init__(self, fn):
        self._fn, self._jitted = fn, None

    def init(self, init_fn, *args):
        """Not jitted: what equinox returns is not all arrays."""
        value = init_fn(*[_Dict(arg) if isinstance(arg, dict) else arg for arg in args])
        is_nnx = isinstance(value, tuple) and isinstance(value[0], nnx.Module)
        self._jitted = nnx.jit(self._fn) if is_nnx else eqx.filter_jit(self._fn)
        return value

    def __call__(self, *args):
        return self._jitted(*args)

    def progress(self, batches):
        return batches

    def close(self):
        """There is nothing to end."""


class _Dict(dict):
    """Can be fetched, as a State."""

    def fetch(self) -> dict:
        return {name: np.asarray(array) for name, array in self.items()}


jax.tree_util.register_pytree_node(
    _Dict,
    lambda d: (list(d.values()), tuple(d)),
    lambda names, values: _Dict(zip(names, values, strict=True)),
)
