"""The configuration that all models of the zoo share."""

from dataclasses import dataclass

import jax.numpy as jnp

DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Fields shared by all models; each model's Config adds its own.

    Parameters and optimizer state are always f32. `dtype` is the type of the
    computation in the forward and backward passes; norms, softmax and the loss stay in
    f32.
    """

    batch: int
    dtype: str = "f32"
    learning_rate: float = 3e-4
    weight_decay: float = 0.1

    @property
    def compute_dtype(self):
        return DTYPES[self.dtype]
