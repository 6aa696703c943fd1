"""State that a function computes: where it will live, once that is known."""

from collections.abc import Callable, Mapping, Sequence

from meshwright.arrays import Arrays
from meshwright.client.channel import Service
from meshwright.client.host_arrays import canonical, fits, host_array
from meshwright.client.state import Form
from meshwright.errors import MeshwrightError, in_one_line
from meshwright.frameworks import is_model
from meshwright.keys import is_key
from meshwright.lowered_module import LoweredModule
from meshwright.lowering import lower_traced
from meshwright.tracing import function_name, trace


class InitialState:
    """The home of a store whose arrays are `fn(*args)`, not yet computed."""

    def __init__(self, fn: Callable, args: tuple):
        import jax

        self._args = args
        self._arrays: Arrays | None = None

        def leaves(*args):
            """The arrays of the result, flat."""
            self._arrays, tree = Arrays.of_state(fn(*args))
            self._tree = jax.tree_util.tree_structure(tree)
            return jax.tree_util.tree_leaves(tree)

        leaves.__name__ = leaves.__qualname__ = function_name(fn)
        self._leaves = leaves
        try:
            self._structs = jax.eval_shape(leaves, *args)
        except Exception as error:
            raise MeshwrightError(
                f"jax cannot trace {function_name(fn)}: {in_one_line(error)}"
            ) from error
        if not self._structs:
            raise MeshwrightError(f"{function_name(fn)} returns no arrays")

    def form(self) -> Form:
        import jax

        tree = jax.tree_util.tree_unflatten(self._tree, self._structs)
        return Form.of(self._arrays.restore(tree))

    def fetch(self, slots: Sequence[int]) -> list:
        """Computes these alone, on a device of jax."""
        import jax

        def chosen(*args):
            found = self._leaves(*args)
            return [found[slot] for slot in slots]

        return [host_array(array) for array in jax.jit(chosen)(*self._args)]

    @property
    def source(self):
        """Equal for homes that fill a job together."""
        return self

    def fill(self, service: Service, job: int, homes: Mapping, platform: str) -> None:
        """Gives a job its state, computed where it lives; `homes` are those that fill
        it, with their slots by parameter, in the order of the job's."""
        module = self._module(list(homes[self].values()), platform)
        service.init(job, self._tensors(module), module.hlo)

    def _module(self, slots: Sequence[int], platform: str) -> LoweredModule:
        """The function that computes the arrays of these slots, in order."""

        def init(*args):
            found = self._leaves(*args)
            return [found[slot] for slot in slots]

        step = trace(init, self._args, {}, as_call=True)
        return lower_traced(step, state=(), platform=platform).module

    def _tensors(self, module: LoweredModule) -> list[tuple[str, object]]:
        """The module's arguments, by name."""
        import jax

        leaves = jax.tree_util.tree_leaves(self._args)
        names = [parameter.name for parameter in module.parameters]
        return list(zip(names, map(host_array, leaves), strict=True))


def require_arrays(value, name: str) -> None:
    """Refuses leaves that are no arrays of numbers, by the argument's name. Models of
    nnx and equinox hold what they like."""
    import jax

    found = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_model)[0]
    for path, leaf in found:
        why = None if is_model(leaf) else _why_not(leaf)
        if why is not None:
            raise MeshwrightError(f"{name}{jax.tree_util.keystr(path)} is {why}")


def _why_not(leaf) -> str | None:
    import jax
    import numpy as np

    if isinstance(leaf, jax.core.Tracer):
        return (
            "traced: a step is called from Python, not within jax.jit or another "
            "transformation"
        )
    if hasattr(leaf, "shape"):
        dtype = getattr(leaf, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind in "OUSMm":
            return f"an array of {dtype}, not of numbers"
        if isinstance(leaf, np.ma.MaskedArray):
            return "a masked array, whose mask jax does not know: give its filled()"
        if not isinstance(dtype, np.dtype) and not is_key(leaf):
            kind = type(leaf)
            return f"a {kind.__module__}.{kind.__name__}, not an array of NumPy or jax"
        return None
    if isinstance(leaf, int) and not fits(leaf):
        return f"{leaf}, more than an array of {canonical(np.dtype(int))} holds"
    if isinstance(leaf, bool | int | float | complex | np.generic):
        return None
    return f"a {type(leaf).__name__}, not an array"
