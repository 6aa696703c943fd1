"""`kernel`: functions that are compiled for the local shapes of their operands.

A Pallas kernel, an FFI call, a loop over blocks: none of them can be partitioned once
compiled, but each can be compiled for a part of its operands. A rule of one line says
which parts (`docs/formats.md`, "Rules of kernels"):

    norm = meshwright.kernel(pallas_norm, rule="b n, n -> b n {need_replication: n}")

`meshwright.lower` then puts the function's body into the module for every local shape
that a plan may need (`kernel_variants.py`). Everywhere else, the kernel behaves like
the function itself.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from meshwright.errors import MeshwrightError
from meshwright.kernel_rule import Rule, fit, with_leading
from meshwright.keys import is_key

_numbers = itertools.count(1)


Flops = float | Callable[..., float] | None


def kernel(
    fn: Callable | None = None,
    *,
    rule: str,
    name: str | None = None,
    flops: Flops = None,
):
    """Marks `fn` as a kernel that is partitioned only according to `rule`.

        @meshwright.kernel(rule="b n, n -> b n {need_replication: n}")
        def norm(x, scale, *, eps=1e-6):
            return pl.pallas_call(...)(x, scale)

    Positional arguments are the operands: arrays, or pytrees of arrays whose leaves the
    rule lists in order. Keyword arguments are static. The function must not use other
    arrays. For gradients, wrap the forward and the backward function each, and combine
    them with `jax.custom_vjp`.

    If `fn` raises an error for a local shape, that split is not used. Under `jax.vmap`,
    the mapped dimension is another one that may be split.

    Args:
      rule: the dimensions of operands and results as factors.
      name: for messages and plans; the function's own by default.
      flops: how many floating-point operations a call takes, or a function that tells
        it: it gets what `fn` gets, with `jax.ShapeDtypeStruct`s in place of arrays. A
        device's part counts by its share of the factors. By default, what the
        `cost_estimate` of Pallas calls in `fn` says, if any does; otherwise what can
        be told of the body.

    Raises MeshwrightError if it is called with shapes that the rule does not fit.
    """
    if fn is None:
        return lambda fn: kernel(fn, rule=rule, name=name, flops=flops)
    import functools

    called = name or getattr(fn, "__name__", "kernel").strip("<>")

    @functools.wraps(fn)
    def call(*args, **static):
        return _call(fn, called, rule, args, static, flops)

    return call


@dataclass(frozen=True, eq=False)
class KernelCall:
    """A kernel and the shapes of one call."""

    fn: Callable
    name: str
    rule: str
    static: dict
    tree: object  # Of the operands.
    dtypes: list  # Of the operands.
    results: list  # Shapes and dtypes.
    fitted: Rule
    flops: float | None = None  # Of one call on the whole shapes.

    # Whether it is no kernel if its body calls library kernels with rules of their own.
    is_transparent: ClassVar[bool] = False

    @property
    def key(self):
        """Equal for calls with the same program."""
        static = tuple(sorted(self.static.items()))
        try:
            hash(static)
        except TypeError:
            static = id(self)
        shapes = self.fitted.local({})
        return self.fn, self.rule, static, self.tree, str(self.dtypes), str(shapes)

    def flat(self, *leaves):
        """The leaves of the results."""
        import jax

        args = jax.tree_util.tree_unflatten(self.tree, leaves)
        return jax.tree_util.tree_leaves(self.fn(*args, **self.static))

    def part(self, ways: dict[str, int]) -> Callable:
        """What `flat` is for a device if factors are split into so many parts."""
        del ways
        return self.flat


@dataclass(frozen=True)
class _Mapped:
    """A kernel under `jax.vmap`: batched operands have one more dimension."""

    fn: Callable
    tree: object
    batched: tuple[bool, ...]

    def __call__(self, *leaves, **static):
        import jax

        def one(*leaves):
            args = jax.tree_util.tree_unflatten(self.tree, leaves)
            return jax.tree_util.tree_leaves(self.fn(*args, **static))

        axes = [0 if batched else None for batched in self.batched]
        return jax.vmap(one, in_axes=axes)(*leaves)


class Reference(str):
    """A number by which a traced program refers to the call."""

    __slots__ = ("call",)

    def __new__(cls, call: KernelCall):
        self = super().__new__(cls, next(_numbers))
        self.call = call
        return self


def _call(
    fn: Callable, name: str, rule: str, args: tuple, static: dict, flops: Flops = None
):
    import jax

    if not hasattr(jax.lax, "composite"):
        raise MeshwrightError(
            f"kernel {name}: jax {jax.__version__} has no jax.lax.composite, which "
            "meshwright.kernel needs; 0.5 has"
        )
    leaves, tree = jax.tree_util.tree_flatten(args)
    leaves = [_as_array(name, i, leaf) for i, leaf in enumerate(leaves)]
    structs = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]

    def flat(*leaves):
        return fn(*jax.tree_util.tree_unflatten(tree, leaves), **static)

    program, result = jax.make_jaxpr(flat, return_shape=True)(*structs)
    if program.consts:
        raise MeshwrightError(
            f"kernel {name}: uses an array that is not among its operands; give it "
            "as an argument"
        )
    results, result_tree = jax.tree_util.tree_flatten(result)
    try:
        fitted = fit(rule, [s.shape for s in structs], [r.shape for r in results])
    except MeshwrightError as error:
        raise MeshwrightError(f"kernel {name}: its rule '{rule}': {error}") from None
    dtypes = [struct.dtype for struct in structs]
    if flops is None:
        flops = _estimated_flops(program.jaxpr) or None
    else:
        if callable(flops):
            flops = flops(*jax.tree_util.tree_unflatten(tree, structs), **static)
        flops = _checked_flops(name, flops)
    call = KernelCall(fn, name, rule, static, tree, dtypes, results, fitted, flops)
    return jax.tree_util.tree_unflatten(result_tree, _bind(call, program)(*leaves))


def _checked_flops(name: str, flops) -> float:
    try:
        number = float(flops)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise MeshwrightError(
            f"kernel {name}: flops is {flops!r}, expected a number of operations"
        )
    return number


def _estimated_flops(jaxpr) -> float:
    """The sum of what Pallas calls in a program say of themselves."""
    total = 0.0
    for equation in jaxpr.eqns:
        params = equation.params
        if equation.primitive.name == "pallas_call":
            estimate = params.get("cost_estimate")
            total += float(getattr(estimate, "flops", 0) or 0)
            continue
        inner = [
            _estimated_flops(getattr(one, "jaxpr", one))
            for value in params.values()
            for one in (value if isinstance(value, tuple | list) else (value,))
            if hasattr(getattr(one, "jaxpr", one), "eqns")
        ]
        if equation.primitive.name == "cond":
            total += max(inner, default=0.0)
        else:
            total += sum(inner) * params.get("length", 1)
    return total


def _as_array(name: str, index: int, leaf):
    import jax.numpy as jnp

    if is_key(leaf):
        raise MeshwrightError(
            f"kernel {name}: operand {index} is a PRNG key; give it "
            "jax.random.key_data of it"
        )
    try:
        return jnp.asarray(leaf, dtype=jnp.result_type(leaf))
    except TypeError as error:
        raise MeshwrightError(
            f"kernel {name}: operand {index} is {leaf!r}, no array; what is static is "
            "given by keyword"
        ) from error


def as_operation(call: KernelCall, program) -> Callable:
    """The program as a single operation of the program being traced."""
    import jax
    from jax.extend.core import jaxpr_as_fun

    def body(*leaves, number, rule):
        del number, rule
        return jaxpr_as_fun(program)(*leaves)

    composite = jax.lax.composite(body, name=f"meshwright.{call.name}")

    def operation(*leaves):
        return composite(*leaves, number=Reference(call), rule=call.rule)

    return operation


def _bind(call: KernelCall, program) -> Callable:
    """The program as a single operation of the program being traced, with its own
    derivative and batching."""
    import jax

    one = jax.custom_batching.custom_vmap(as_operation(call, program))

    @one.def_vmap
    def many(size, batched, *leaves):
        rule = with_leading(call.rule, batched)
        mapped = _Mapped(call.fn, call.tree, tuple(batched))
        flops = None if call.flops is None else size * call.flops
        results = _call(mapped, call.name, rule, leaves, call.static, flops)
        return results, [True] * len(results)

    @jax.custom_jvp
    def bound(*leaves):
        return one(*leaves)

    @bound.defjvp
    def refuse(primals, tangents):
        raise MeshwrightError(
            f"kernel {call.name}: has no gradient; wrap its forward and its backward "
            "function each by meshwright.kernel and join them by jax.custom_vjp"
        )

    return bound
