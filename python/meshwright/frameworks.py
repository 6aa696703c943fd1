"""Recognises arguments of flax.nnx and equinox by the public interfaces of these
libraries.

nnx objects (modules, optimizers, metrics, rngs) are mutated in place and may share
variables; equinox modules are pytrees that contain functions and numbers besides
arrays. Neither library is imported here: an argument can only be an object of a library
that its owner has imported.
"""

import sys


def is_nnx_object(value) -> bool:
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return False
    # Newer versions have the name Pytree for what was Object.
    objects = getattr(nnx, "Pytree", None) or nnx.Object
    return isinstance(value, (objects, nnx.Variable))


def is_nnx_state(value) -> bool:
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.State)


def is_nnx_variable(value) -> bool:
    """Whether it is an nnx Variable, or the form of one in a State."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return False
    # Older versions have a separate class for variables in a State.
    return isinstance(value, (nnx.Variable, vars(nnx).get("VariableState", ())))


def is_equinox_module(value) -> bool:
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def is_model(value) -> bool:
    """Whether it is an object of one of the libraries that contains arrays."""
    return is_nnx_object(value) or is_equinox_module(value)


def is_filter_jitted(fn) -> bool:
    """Whether `fn` was returned by `eqx.filter_jit`: everything but arrays is
    static."""
    return is_equinox_module(fn) and all(
        hasattr(fn, name) for name in ("__wrapped__", "lower")
    )
