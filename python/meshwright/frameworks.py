"""What flax.nnx and equinox put into arguments, told by their public interfaces.

nnx objects (modules, optimizers, metrics, rngs) are mutated in place and may share
variables; equinox modules are pytrees that hold functions and numbers beside arrays.
Neither library is imported here: an argument is one of theirs only if its owner has
imported it.
"""

import sys


def is_nnx_object(value) -> bool:
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return False
    # Newer versions call Pytree what was Object.
    objects = getattr(nnx, "Pytree", None) or nnx.Object
    return isinstance(value, (objects, nnx.Variable))


def is_nnx_state(value) -> bool:
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.State)


def is_nnx_variable(value) -> bool:
    """An nnx Variable, also as it is in a State."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return False
    # Older versions have a class of its own for those in a State.
    return isinstance(value, (nnx.Variable, vars(nnx).get("VariableState", ())))


def is_equinox_module(value) -> bool:
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def is_model(value) -> bool:
    """Whether a library holds arrays in it."""
    return is_nnx_object(value) or is_equinox_module(value)


def is_filter_jitted(fn) -> bool:
    """Whether `fn` is what `eqx.filter_jit` returns: all but arrays is static."""
    return is_equinox_module(fn) and all(
        hasattr(fn, name) for name in ("__wrapped__", "lower")
    )
