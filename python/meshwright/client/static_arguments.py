"""Arguments of a call that are static: no arrays, but part of the program.

    @functools.partial(jax.jit, static_argnames="train")
    def step(state, batch, train=True): ...

    static = StaticArguments(step)
    static.hold((state, batch), {"train": False})  # ..., {"train": Held(False)}

What `jax.jit` was told is read from the jitted function, also one that is a method,
in a partial or within a decorator that keeps `__wrapped__`. As in equinox, numbers in
its modules are static, and with `eqx.filter_jit` all that is no array.
"""

import functools
import inspect
from collections.abc import Callable, Iterable

from meshwright.arrays import Held, hold_in_modules, is_array
from meshwright.client.state import State
from meshwright.data import Dataset
from meshwright.errors import MeshwrightError
from meshwright.frameworks import is_equinox_module, is_filter_jitted
from meshwright.naming import positional_names
from meshwright.tracing import as_list, is_jax_jitted


class StaticArguments:
    def __init__(
        self,
        fn: Callable,
        numbers: int | Iterable[int] | None = None,
        names: str | Iterable[str] | None = None,
    ):
        """`numbers` and `names` as jit's static_argnums and static_argnames."""
        own_numbers, own_names = _jitted(fn)
        own_numbers += [] if numbers is None else as_list(numbers)
        own_names += [names] if isinstance(names, str) else list(names or ())
        # Each says the other, for arguments that are given either way.
        known = _names(fn)
        self._numbers = {
            *own_numbers,
            *(known.index(n) for n in own_names if n in known),
        }
        self._names = {*own_names, *(known[n] for n in own_numbers if _has(known, n))}
        self._fn, self._is_filtered = fn, is_filter_jitted(fn)

    def hold(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments, what is static in a `Held`."""
        if self._numbers:
            held = {i % len(args) for i in self._numbers if _has(args, i)}
            args = tuple(Held(x) if i in held else x for i, x in enumerate(args))
        if self._names:
            kwargs = {k: Held(x) if k in self._names else x for k, x in kwargs.items()}
        return args, kwargs

    def leaves(self, leaves: list, tree) -> list:
        """The leaves of such arguments, with those held that equinox holds."""
        import jax

        if all(map(_is_traced, leaves)):
            return leaves
        if self._is_filtered:
            return [x if _is_traced(x) else Held(x) for x in leaves]
        held = []
        for part in jax.tree_util.tree_leaves(tree, is_leaf=is_equinox_module):
            own = hold_in_modules(part) if is_equinox_module(part) else part
            held += jax.tree_util.tree_leaves(own)
        return held

    def require_hashable(self, args: tuple, kwargs: dict) -> None:
        """Names the argument that is not."""
        names = [*positional_names(self._fn, len(args)), *kwargs]
        for name, value in zip(names, [*args, *kwargs.values()], strict=False):
            if not isinstance(value, Held):
                continue
            try:
                hash(value)
            except TypeError:
                kind = type(value.value).__name__
                raise MeshwrightError(
                    f"{name} is static and a {kind}, which has no hash: calls are "
                    "told apart by static arguments; give a tuple, say"
                ) from None


def _jitted(fn: Callable) -> tuple[list[int], list[str]]:
    """The static arguments of the `jax.jit` that is in a function."""
    if is_jax_jitted(fn):
        state = fn.__getstate__()  # What it is pickled as.
        return list(state["static_argnums"] or ()), list(state["static_argnames"] or ())
    if isinstance(fn, functools.partial):
        numbers, names = _jitted(fn.func)
        return _without_first(numbers, len(fn.args)), names
    if inspect.ismethod(fn):
        numbers, names = _jitted(fn.__func__)
        return _without_first(numbers, 1), names
    for inner in ("jitted_fn", "__wrapped__"):  # The former nnx.jit's.
        if callable(getattr(fn, inner, None)):
            return _jitted(getattr(fn, inner))
    return [], []


def _without_first(numbers: list[int], count: int) -> list[int]:
    return [i - count * (i >= 0) for i in numbers if not 0 <= i < count]


def _names(fn: Callable) -> list[str]:
    """Of the arguments that can be given by their place."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]


def _has(sequence, index: int) -> bool:
    return -len(sequence) <= index < len(sequence)


def _is_traced(leaf) -> bool:
    return is_array(leaf) or isinstance(leaf, State | Dataset | Held)
