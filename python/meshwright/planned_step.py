"""A step with the shardings of a plan, called like the step itself."""

from collections.abc import Callable

import jax

from meshwright.arrays import Arrays
from meshwright.errors import MeshwrightError
from meshwright.pairing import pair_state
from meshwright.tracing import TracedStep, function_name, unbound


class PlannedStep:
    """`step(state, batch)`; nnx objects among the arguments are updated in place."""

    def __init__(
        self, fn: Callable, step: TracedStep, shardings: list, results, donate: bool
    ):
        """`step` is `fn`, traced; `shardings` are those of its parameters in order,
        `results` those of its objects and its result."""
        self._fn = fn
        self._call = step.call
        self._afters: dict[Arrays, Arrays] = {}
        self._shardings = shardings
        state = set(pair_state(step, None)) if donate else set()
        # Donated arguments first.
        self._order = sorted(range(len(shardings)), key=lambda i: i not in state)
        self._donated = len(state)
        self._run = jax.jit(
            self._flat,
            static_argnums=0,
            in_shardings=tuple(self._split(shardings)),
            out_shardings=results,
            donate_argnums=1,
        )
        self.__name__ = function_name(fn)

    def __call__(self, *args, **kwargs):
        _, bound, kwargs = unbound(self._fn, kwargs)
        value = self._call.held((*bound, *args), kwargs)
        arrays, tree = Arrays.of(value, self._call.only_arrays)
        leaves = jax.tree_util.tree_leaves(tree)
        if len(leaves) != len(self._shardings):
            raise MeshwrightError(
                f"{self.__name__} was planned for {len(self._shardings)} arrays, "
                f"this call has {len(leaves)}"
            )
        leaves = jax.device_put(leaves, self._shardings)
        objects, result = self._run(arrays, *self._split(leaves))
        arrays.update(value, objects)
        _, result = self._afters[arrays].restore((objects, result))
        return result

    def _split(self, leaves: list) -> tuple[list, list]:
        ordered = [leaves[i] for i in self._order]
        return ordered[: self._donated], ordered[self._donated :]

    def _flat(self, arrays: Arrays, donated: list, others: list):
        """The program, traced once for all calls of the same structure."""
        leaves = [None] * len(self._order)
        for i, leaf in zip(self._order, [*donated, *others], strict=True):
            leaves[i] = leaf
        self._afters[arrays], tree = self._call.pure(arrays, arrays.unflatten(leaves))
        return tree
