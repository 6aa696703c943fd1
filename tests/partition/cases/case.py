"""A case: a small function, how its tensors lie, and the collectives wanted.

Axes and shardings are written as everywhere (mesh/sharding_text.h). Bytes are those
of a collective's operand on one device.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

D8 = "d=8"
XY = "x=4,y=2"
ABC = "a=2,b=2,c=2"


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    shapes: list
    mesh: str
    parameters: list[str]
    outputs: list[str | None]
    wanted: list[list[dict]]  # Any of these.
    known: str | None = None  # Why it does not work yet.
    # Tensors stand for larger ones: a collective costs next to nothing to start.
    large: bool = False


CASES: list[Case] = []


def case(name, function, shapes, mesh, parameters, outputs, *wanted, **options):
    CASES.append(
        Case(name, function, shapes, mesh, parameters, outputs, list(wanted), **options)
    )


def f32(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


def s32(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.int32)


def u32(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.uint32)


def size(*dimensions):
    """Bytes of a f32 (or s32) array."""
    return 4 * math.prod(dimensions)


def _collective(kind, axes, size_in_bytes, count):
    wanted = {"kind": kind, "count": count}
    if axes is not None:
        wanted["axes"] = axes
    if size_in_bytes is not None:
        wanted["bytes"] = size_in_bytes
    return wanted


def all_reduce(axes=None, size=None, count=1):
    return _collective("all-reduce", axes, size, count)


def reduce_scatter(axes=None, size=None, count=1):
    return _collective("reduce-scatter", axes, size, count)


def all_gather(axes=None, size=None, count=1):
    return _collective("all-gather", axes, size, count)


def all_to_all(axes=None, size=None, count=1):
    return _collective("all-to-all", axes, size, count)


def permute(size=None, count=1):
    return _collective("collective-permute", None, size, count)


def permutes(at_most):
    """One or more that together send at most so much."""
    return {"kind": "collective-permute", "total": at_most}


NONE: list[dict] = []
