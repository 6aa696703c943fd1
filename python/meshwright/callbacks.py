"""Python callbacks inside a traced step, which a module cannot contain.

Callbacks that return nothing to the step, such as `jax.debug.print`, are removed. A
callback whose result the step needs is an error.
"""

import traceback
from dataclasses import dataclass
from pathlib import Path

# Name of the primitive -> what the user wrote.
_NAMES = {
    "debug_callback": "jax.debug.print or jax.debug.callback",
    "debug_print": "jax.debug.print",
    "pure_callback": "jax.pure_callback",
    "io_callback": "jax.experimental.io_callback",
    "outside_call": "a host callback",
}
_EFFECTS = ("DebugEffect", "OrderedDebugEffect", "IOEffect", "OrderedIOEffect")
_LIBRARIES = ("jax", "jaxlib", "flax", "equinox", "optax")


@dataclass(frozen=True)
class Callback:
    """`Callback("jax.pure_callback", "train.py:12", True)`."""

    name: str
    place: str  # In the user's code; "" if unknown.
    needed: bool

    def __str__(self) -> str:
        return f"{self.name} ({self.place})" if self.place else self.name


def find_callbacks(closed_jaxpr) -> list[Callback]:
    """All callbacks, in program order."""
    found = []
    _without(closed_jaxpr.jaxpr, found)
    return found


def without_callbacks(closed_jaxpr):
    """The same program without the callbacks whose results nothing needs."""
    return closed_jaxpr.replace(jaxpr=_without(closed_jaxpr.jaxpr, []))


def _without(jaxpr, found: list[Callback]):
    kept = []
    for equation in jaxpr.eqns:
        name = _NAMES.get(equation.primitive.name)
        if name is not None:
            needed = bool(equation.outvars)
            found.append(Callback(name, _place(equation), needed))
            if not needed:
                continue
        params = {
            key: _each_jaxpr(value, found) for key, value in equation.params.items()
        }
        effects = _other_effects(equation.effects)
        kept.append(equation.replace(params=params, effects=effects))
    return jaxpr.replace(eqns=kept, effects=_other_effects(jaxpr.effects))


def _each_jaxpr(value, found: list[Callback]):
    """A parameter of an equation, with the same done to the programs in it."""
    from jax.extend.core import ClosedJaxpr, Jaxpr

    if isinstance(value, Jaxpr):
        return _without(value, found)
    if isinstance(value, ClosedJaxpr):
        return value.replace(jaxpr=_without(value.jaxpr, found))
    if type(value) in (tuple, list):
        return type(value)(_each_jaxpr(item, found) for item in value)
    return value


def _other_effects(effects):
    """Effects that are not those of callbacks."""
    return {
        effect
        for effect in effects
        if type(effect).__name__.lstrip("_") not in _EFFECTS
    }


def _place(equation) -> str:
    """`train.py:12`: the innermost line that is not in a library."""
    try:
        frames = traceback.extract_tb(
            equation.source_info.traceback.as_python_traceback()
        )
    except AttributeError:
        return ""
    for frame in reversed(frames):
        parts = Path(frame.filename).parts
        if not any(library in parts for library in _LIBRARIES):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""
