"""Specifications of a model's inputs, and deterministic examples of them.

>>> fields = {"tokens": integers((8, 64), below=128)}
>>> shapes(fields)["tokens"].shape
(8, 64)
>>> int(example(fields, seed=0)["tokens"].max()) < 128
True
"""

from dataclasses import dataclass

import jax
import numpy as np


@dataclass(frozen=True)
class Field:
    """Integers in [0, below), or standard normal floats if `below` is None."""

    shape: tuple[int, ...]
    below: int | None

    @property
    def dtype(self):
        return np.float32 if self.below is None else np.int32


def integers(shape: tuple[int, ...], *, below: int) -> Field:
    return Field(shape, below)


def floats(shape: tuple[int, ...]) -> Field:
    return Field(shape, None)


def shapes(fields: dict[str, Field]) -> dict[str, jax.ShapeDtypeStruct]:
    return {
        name: jax.ShapeDtypeStruct(field.shape, field.dtype)
        for name, field in fields.items()
    }


def example(fields: dict[str, Field], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def draw(field: Field) -> np.ndarray:
        if field.below is None:
            return rng.standard_normal(field.shape, np.float32)
        return rng.integers(field.below, size=field.shape, dtype=np.int32)

    return {name: draw(fields[name]) for name in sorted(fields)}
