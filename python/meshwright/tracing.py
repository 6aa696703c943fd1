"""A step traced by jax, with the structure of its arguments and results.

Functions that are `jax.jit`-ted are traced as they are. All others, including those of
`nnx.jit` and `eqx.filter_jit`, are called with the arrays put back in their places, and
the contents of nnx objects after the call are returned in addition to the result.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from meshwright.arrays import Arrays, Held
from meshwright.errors import MeshwrightError, in_one_line
from meshwright.frameworks import is_equinox_module, is_filter_jitted, is_model
from meshwright.naming import positional_names, recorded_names


@dataclass(frozen=True)
class Argument:
    """A traced argument: a pytree of leaves with `shape`, `dtype` and `donated`."""

    name: str
    tree: object
    leaves: list
    start: int  # Index of its first leaf among the entry's parameters.

    @property
    def parameters(self) -> range:
        return range(self.start, self.start + len(self.leaves))

    @property
    def donated(self) -> bool:
        return any(leaf.donated for leaf in self.leaves)

    @property
    def is_like_losses(self) -> bool:
        """Whether it is floating scalars without keys, as a learning rate is: then a
        loss that comes back is as likely as its next value."""
        import jax
        import jax.numpy as jnp

        paths, _ = jax.tree_util.tree_flatten_with_path(self.tree)
        keys = [key for path, _ in paths for key in path]
        return all(isinstance(key, jax.tree_util.SequenceKey) for key in keys) and all(
            not leaf.shape and jnp.issubdtype(leaf.dtype, jnp.floating)
            for leaf in self.leaves
        )


@dataclass(frozen=True)
class InPlace:
    """An nnx object: its arrays before and after the call, by flat index."""

    parameters: dict[str, int]
    outputs: dict[str, int]


@dataclass(frozen=True)
class TracedStep:
    """`outputs` are those of the result; they follow those of the objects."""

    traced: object  # jax.stages.Traced
    arguments: list[Argument]
    result: object
    objects: list[InPlace] = field(default_factory=list)
    call: "Call | None" = None

    @property
    def outputs(self) -> range:
        import jax

        start = sum(len(found.outputs) for found in self.objects)
        return range(start, start + len(jax.tree_util.tree_leaves(self.result)))


class Call:
    """A call of a function whose arguments need not be arrays."""

    def __init__(self, fn: Callable, args: tuple, kwargs: Mapping, static: Iterable):
        self.fn = fn
        self.static = {i % len(args) for i in static if -len(args) <= i < len(args)}
        self.only_arrays = _only_arrays(fn, (args, kwargs))
        self.arrays, tree = Arrays.of(self.held(args, kwargs), self.only_arrays)
        self.args, self.kwargs = tree
        self.after: Arrays | None = None  # Contains the objects and the result.

    def held(self, args: Sequence, kwargs: Mapping) -> tuple:
        """The arguments with the static ones marked."""
        args = (Held(x) if i in self.static else x for i, x in enumerate(args))
        return tuple(args), dict(kwargs)

    def pure(self, arrays: Arrays, tree) -> tuple[Arrays, object]:
        """Maps the arrays of the arguments to those of the nnx objects among them after
        the call, and those of the result."""
        args, kwargs = arrays.restore(tree)
        objects = arrays.objects(self.held(args, kwargs))
        result = self.fn(*args, **kwargs)
        return Arrays.of((objects, result), self.only_arrays)

    def trace(self):
        import jax

        def pure(*args, **kwargs):
            self.after, tree = self.pure(self.arrays, (args, kwargs))
            return tree

        pure.__name__ = pure.__qualname__ = function_name(self.fn)
        # Errors of jax say where it is written.
        pure.__signature__ = inspect.signature(pure)
        pure.__wrapped__ = self.fn
        return jax.jit(pure, keep_unused=True).trace(*self.args, **self.kwargs)


def trace(
    fn: Callable,
    args: tuple,
    kwargs: Mapping[str, object],
    names: Sequence[str] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    as_call: bool = False,
) -> TracedStep:
    """Traces `fn(*args, **kwargs)`; `names` are those of the arguments that are not
    static.

    With `as_call`, a function that is `jax.jit`-ted is called like any other.

    Raises MeshwrightError, in one line, for what jax cannot trace.
    """
    if not callable(fn):
        raise MeshwrightError(f"{fn!r} is not a function")
    fn, bound, kwargs = unbound(fn, kwargs)
    args = (*bound, *args)
    if bound and static_argnums is not None:
        static_argnums = [i + len(bound) * (i >= 0) for i in as_list(static_argnums)]
    if is_jax_jitted(fn) and not as_call:
        if static_argnums is not None:
            raise MeshwrightError(
                "the function is jitted: give static_argnums to jax.jit"
            )
        traced = _attempt(fn, lambda: fn.trace(*args, **kwargs))
        arguments = _arguments(fn, traced.args_info, names, args, traced)
        return TracedStep(traced, arguments, traced.out_info)
    call, traced = _trace_call(fn, args, kwargs, static_argnums)
    positional, keyword = traced.args_info
    kept = [x for i, x in enumerate(positional) if i not in call.static]
    arguments = _arguments(fn, (kept, keyword), names, args, None, call.static)
    return TracedStep(
        traced, arguments, traced.out_info[1], _in_place(call, traced), call
    )


def unbound(fn: Callable, kwargs: Mapping) -> tuple[Callable, tuple, dict]:
    """A method or a partial that contains a model, as a function of the model: the
    function, its first arguments, and all keyword arguments."""
    if isinstance(fn, functools.partial) and _holds_models((fn.args, fn.keywords)):
        inner, bound, given = unbound(fn.func, {**fn.keywords, **kwargs})
        return inner, (*bound, *fn.args), given
    owner = getattr(fn, "__self__", None)
    if is_model(owner) and callable(getattr(fn, "__func__", None)):
        return fn.__func__, (owner,), dict(kwargs)
    return fn, (), dict(kwargs)


def as_list(numbers: int | Sequence[int]) -> list[int]:
    return [numbers] if isinstance(numbers, int) else list(numbers)


def _holds_models(arguments) -> bool:
    import jax

    return any(map(is_model, jax.tree_util.tree_leaves(arguments, is_leaf=is_model)))


def is_jax_jitted(fn) -> bool:
    import jax

    return isinstance(fn, type(jax.jit(lambda: None)))


def function_name(fn) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _only_arrays(fn: Callable, arguments) -> bool:
    """Whether numbers are static, as in equinox."""
    import jax

    found = jax.tree_util.tree_leaves(arguments, is_leaf=is_equinox_module)
    return is_filter_jitted(fn) or any(map(is_equinox_module, found))


def _trace_call(fn, args, kwargs, static_argnums):
    if static_argnums is not None:
        call = Call(fn, args, kwargs, as_list(static_argnums))
        return call, _attempt(fn, call.trace)
    # A function jitted inside may make some numbers static, which jax does not record.
    numbers = [i for i, x in enumerate(args) if isinstance(x, int | float | str)]
    attempts = [(), tuple(i for i in numbers if not isinstance(args[i], float))]
    attempts += [tuple(numbers)]
    failure = None
    for static in dict.fromkeys(attempts) if hasattr(fn, "__wrapped__") else [()]:
        call = Call(fn, args, kwargs, static)
        try:
            return call, _attempt(fn, call.trace)
        except MeshwrightError as error:
            failure = failure or error
    raise failure


def _attempt(fn: Callable, trace: Callable):
    try:
        return trace()
    except MeshwrightError:
        raise
    except Exception as error:
        raise MeshwrightError(
            f"jax.jit cannot trace {function_name(fn)}: {in_one_line(error)}"
        ) from error


def _in_place(call: Call, traced) -> list[InPlace]:
    import jax

    def numbered(tree):
        leaves, structure = jax.tree_util.tree_flatten(tree)
        return structure.unflatten(range(len(leaves)))

    before = call.arrays.object_trees(numbered(traced.args_info))
    objects, _ = numbered(traced.out_info)
    found = []
    for parameters, outputs in zip(before, objects, strict=True):
        changed = parameters.keys() ^ outputs.keys()
        if changed:
            raise MeshwrightError(
                f"{function_name(call.fn)} adds or removes the variable "
                f"{min(changed)!r} of an nnx object: have it before the first step"
            )
        found.append(InPlace(parameters, outputs))
    return found


def _arguments(fn, args_info, names, args, traced=None, static=()) -> list[Argument]:
    """The arguments in flat order, without static ones."""
    import jax

    positional, keyword = args_info
    trees = [*positional, *(keyword[key] for key in sorted(keyword))]
    if names is None:
        names = positional_names(fn, len(args))
        names = [name for i, name in enumerate(names) if i not in static]
        names = _traced_names(names, len(positional), traced) + sorted(keyword)
    names = list(names)
    if len(names) != len(trees):
        raise MeshwrightError(f"{len(names)} names given for {len(trees)} arguments")
    arguments, start = [], 0
    for name, tree in zip(names, trees, strict=True):
        leaves = jax.tree_util.tree_leaves(tree)
        arguments.append(Argument(name, tree, leaves, start))
        start += len(leaves)
    return arguments


def _traced_names(names: list[str], count: int, traced) -> list[str]:
    if len(names) > count:  # Some are static: jax recorded no leaves for them.
        recorded = recorded_names(traced.jaxpr.jaxpr.debug_info.arg_names or ())
        names = [name for name in names if name in recorded]
    if len(names) != count:
        raise MeshwrightError("cannot tell the static arguments apart: give names=")
    return names
