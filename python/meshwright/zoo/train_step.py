"""A complete training step of a model: forward, loss, backward, AdamW.

    step = build_step(gpt, config)
    state = step.init_state(seed=0)
    state, loss = jax.jit(step.fn)(state, step.example_batch(seed=0))

A model is a module with `Config`, `batch_fields(config)`, `init(key, config) ->
(params, stats)` and `loss_fn(params, stats, batch, config) -> (loss, stats)`, where
`stats` is the model's own state that is updated in each step, or None.
"""

import math
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import jax
import optax

from meshwright.lowered_module import LoweredModule
from meshwright.lowering import lower
from meshwright.zoo import data
from meshwright.zoo.config import TrainConfig


@dataclass(frozen=True)
class Step:
    """`fn(state, batch) -> (state, loss)`, with the shapes of its arguments."""

    model: ModuleType
    config: TrainConfig

    @cached_property
    def fn(self):
        def step(state, batch):
            def loss_of(params):
                return self.model.loss_fn(params, state["stats"], batch, self.config)

            value_and_grad = jax.value_and_grad(loss_of, has_aux=True)
            (loss, stats), grads = value_and_grad(state["params"])
            updates, opt = self._optimizer.update(grads, state["opt"], state["params"])
            params = optax.apply_updates(state["params"], updates)
            return {"params": params, "opt": opt, "stats": stats}, loss

        return step

    def init_state(self, seed: int = 0):
        return jax.jit(self._init)(_key(seed))

    def example_batch(self, seed: int = 0):
        return data.example(self.model.batch_fields(self.config), seed)

    @property
    def state_shapes(self):
        return jax.eval_shape(self._init, _key(0))

    @property
    def batch_shapes(self):
        return data.shapes(self.model.batch_fields(self.config))

    @property
    def parameter_count(self) -> int:
        leaves = jax.tree_util.tree_leaves(self.state_shapes["params"])
        return sum(math.prod(leaf.shape) for leaf in leaves)

    def lower(self, platform: str = "cpu") -> LoweredModule:
        """Lowers from shapes alone: no weights are allocated, whatever the size."""
        with _portable_locations():
            return lower(
                self.fn,
                self.state_shapes,
                self.batch_shapes,
                state="state",
                platform=platform,
            )

    @cached_property
    def _optimizer(self):
        return optax.adamw(
            self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def _init(self, key):
        params, stats = self.model.init(key, self.config)
        opt = self._optimizer.init(params)
        return {"params": params, "opt": opt, "stats": stats}


def _key(seed: int):
    """A key of the generator that compiles fastest: initialisation consists of random
    draws."""
    return jax.random.key(seed, impl="unsafe_rbg")


@contextmanager
def _portable_locations():
    """Keeps paths and callers out of the module's source locations.

    The same model then lowers to the same bytes wherever it is installed.
    """
    settings = {
        "jax_include_full_tracebacks_in_locations": False,
        "jax_hlo_source_file_canonicalization_regex": r".*/(?=[^/]+/[^/]+$)",
    }
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
