"""Functions with JAX's `custom_partitioning` and a `sharding_rule`, as kernels.

JAX drops the rule when it lowers for one device. Here, the function becomes a kernel
(`kernels.py`) of that rule: for each split, its own `partition` function is asked for
the program of one device, as JAX's partitioner would ask it. A split for which it
wants other shardings, or has a program that communicates, is not used: the rule alone
does not say that each part can be computed without the others.

Rules that are functions of mesh and types are called as JAX calls them, with a mesh
without axes: the module is for any. Where that fails, the function is lowered like any
other: for one device, also where a shard_map has a mesh of several, for which JAX would
leave it to XLA (cuDNN's attention beside a mixture's shard_map).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from meshwright.errors import MeshwrightError, in_one_line, warn
from meshwright.kernel_rule import Names, fit
from meshwright.kernels import KernelCall, as_operation

_PRIMITIVE = "custom_partitioning"


def as_kernels(closed_jaxpr):
    """The program with such functions as kernels; the same object if it has none."""
    return _rewritten(closed_jaxpr)


def lowering_parameters():
    """For `Traced.lower`: without such functions that are left to XLA."""
    from jax._src import core
    from jax._src.custom_partitioning import custom_partitioning_p
    from jax._src.interpreters import mlir

    def lower(context, *values, call, **_):
        function = mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)
        return function(context, *values)

    return mlir.LoweringParameters(
        override_lowering_rules=((custom_partitioning_p, lower),)
    )


def rule_text(rule, operands: list[int], results: list[int]) -> str:
    """JAX's rule in the notation of kernels, for tensors of these ranks."""
    mappings = [*rule.operand_mappings, *rule.result_mappings]
    ranks = [*operands, *results]
    if len(mappings) != len(ranks):
        raise MeshwrightError(
            f"has {len(mappings)} tensors, the function {len(ranks)}: "
            f"{len(operands)} operands and {len(results)} results"
        )
    tensors = [
        _dimensions(mapping, rank)
        for mapping, rank in zip(mappings, ranks, strict=True)
    ]
    read, written = tensors[: len(operands)], tensors[len(operands) :]
    text = f"{_joined(read)} -> {_joined(written)}"
    factors = dict.fromkeys(f for tensor in read for dim in tensor for f in dim)
    whole = set(rule.need_replication_factors) | set(rule.permutation_factors)
    # Of factors that share a dimension only the first is split: bodies are told apart
    # by their shapes, and the partition function may have another one for each.
    whole |= {f for tensor in [*read, *written] for dim in tensor for f in dim[1:]}
    # What a result lacks is not known to be a sum.
    whole |= {
        factor
        for factor in factors
        if factor not in rule.reduction_factors
        and not all(any(factor in dim for dim in tensor) for tensor in written)
    }
    reduced = [factor for factor in rule.reduction_factors if factor not in whole]
    words = []
    if reduced:
        words.append(f"reduction: {' '.join(reduced)}")
    if kept := [factor for factor in factors if factor in whole]:
        words.append(f"need_replication: {' '.join(kept)}")
    words += [f"{name}={size}" for name, size in rule.factor_sizes.items()]
    return f"{text} {{{'; '.join(words)}}}" if words else text


@dataclass(frozen=True, eq=False)
class PartitionedCall(KernelCall):
    """A call of such a function; `fn` is its `partition`."""

    is_transparent = True

    shapes: tuple = ()  # Of the operands.
    results_tree: object = None
    static_args: tuple = ()

    @property
    def key(self):
        return id(self)

    def part(self, ways: dict[str, int]) -> Callable:
        import jax

        split = {name: way for name, way in ways.items() if way > 1}
        mesh = jax.sharding.AbstractMesh(tuple(split.values()), tuple(split))

        def sharding(names: Names):
            axes = [tuple(f for f in dim if f in split) or None for dim in names]
            spec = jax.sharding.PartitionSpec(*axes)
            return jax.sharding.NamedSharding(mesh, spec)

        def structs(tree, shapes, tensors):
            return tree.unflatten(
                [
                    jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=sharding(names))
                    for s, names in zip(shapes, tensors, strict=True)
                ]
            )

        operands = structs(self.tree, self.shapes, self.fitted.operands)
        results = structs(self.results_tree, self.results, self.fitted.results)
        _, function, got_results, got_operands = self.fn(
            *self.static_args, mesh, operands, results
        )
        _require_equal("operand", got_operands, operands)
        _require_equal("result", got_results, results)

        def body(*leaves):
            return jax.tree_util.tree_leaves(
                function(*jax.tree_util.tree_unflatten(self.tree, leaves))
            )

        return body


def _require_equal(what: str, got, wanted) -> None:
    import jax

    got = jax.tree_util.tree_leaves(
        got, is_leaf=lambda x: isinstance(x, jax.sharding.Sharding)
    )
    wanted = jax.tree_util.tree_leaves(wanted)
    if len(got) != len(wanted):
        raise ValueError(f"its partition function has {len(got)} {what} shardings")
    for i, (one, struct) in enumerate(zip(got, wanted, strict=True)):
        rank = len(struct.shape)
        if _axes(one.spec, rank) != _axes(struct.sharding.spec, rank):
            raise ValueError(
                f"its partition function wants {what} {i} in {one.spec}, the rule in "
                f"{struct.sharding.spec}"
            )


def _axes(spec, rank: int) -> list[tuple]:
    dims = [*spec, *[None] * (rank - len(spec))]
    return [() if d is None else (d,) if isinstance(d, str) else tuple(d) for d in dims]


def _dimensions(mapping, rank: int) -> list[list[str]]:
    """The factors of each dimension; a group of batch dimensions is expanded."""
    dims = []
    for dim in mapping:
        if isinstance(dim, str) and not re.match(r"\w", dim):  # JAX's ellipsis.
            group = re.sub(r"\W", "", dim)
            rest = rank - len(mapping) + 1
            dims += [[f"batch{group}_{i}"] for i in range(rest)]
        else:
            dims.append([dim] if isinstance(dim, str) else list(dim))
    return dims


def _joined(tensors: list[list[list[str]]]) -> str:
    def text(dim: list[str]) -> str:
        return dim[0] if len(dim) == 1 else f"({' '.join(dim)})"

    return ", ".join(" ".join(map(text, tensor)) for tensor in tensors)


def _rewritten(value):
    """Anything in an equation's parameters, with the same done to the programs in it;
    the same object if nothing changes."""
    from jax.extend.core import ClosedJaxpr, Jaxpr

    if isinstance(value, Jaxpr):  # Since JAX 0.11 it is also a ClosedJaxpr.
        equations = [_rewritten_equation(equation) for equation in value.eqns]
        if all(map(_is_same, equations, value.eqns)):
            return value
        return value.replace(eqns=equations)
    if isinstance(value, ClosedJaxpr):
        jaxpr = _rewritten(value.jaxpr)
        return value if jaxpr is value.jaxpr else value.replace(jaxpr=jaxpr)
    if type(value) in (tuple, list):
        items = [_rewritten(item) for item in value]
        return value if all(map(_is_same, items, value)) else type(value)(items)
    return value


def _is_same(a, b) -> bool:
    return a is b


def _rewritten_equation(equation):
    if equation.primitive.name == _PRIMITIVE:
        return _as_kernel(equation)
    params = {key: _rewritten(value) for key, value in equation.params.items()}
    if all(params[key] is value for key, value in equation.params.items()):
        return equation
    return equation.replace(params=params)


def _as_kernel(equation):
    import jax

    params = equation.params
    rule = params.get("sharding_rule")
    if rule is None:
        return equation
    program = params["call"]
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.in_avals]
    results = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.out_avals]
    name = getattr(program.jaxpr.debug_info, "func_name", None) or "function"
    name = re.sub(r"\W+", "_", name).strip("_") or "function"
    if callable(rule):
        try:
            rule = _computed_rule(rule, params["static_args"], shapes, results)
        except Exception as error:  # Of the user's function.
            warn(
                f"custom_partitioning of {name} is not split by its sharding rule, a "
                f"function that raises {in_one_line(error)}"
            )
            return equation
    try:
        text = rule_text(
            rule, [len(s.shape) for s in shapes], [len(r.shape) for r in results]
        )
        fitted = fit(text, [s.shape for s in shapes], [r.shape for r in results])
    except MeshwrightError as error:
        raise MeshwrightError(
            f"custom_partitioning of {name}: its sharding rule {error}"
        ) from None
    call = PartitionedCall(
        params["partition"],
        name,
        text,
        {},
        params["in_tree"],
        [s.dtype for s in shapes],
        results,
        fitted,
        shapes=tuple(shapes),
        results_tree=_tree(params["out_tree"]),
        static_args=tuple(params["static_args"]),
    )
    made = jax.make_jaxpr(as_operation(call, program))(*shapes)
    (operation,) = made.jaxpr.eqns
    return equation.replace(primitive=operation.primitive, params=operation.params)


def _computed_rule(rule: Callable, static_args, shapes, results):
    """What the function says of operands and results of these shapes."""
    import jax
    from jax._src.custom_partitioning_sharding_rule import str_to_sdy_sharding_rule
    from jax.interpreters import mlir

    def types(structs):
        return [
            mlir.ir.RankedTensorType.get(s.shape, mlir.dtype_to_ir_type(s.dtype))
            for s in structs
        ]

    mesh = jax.sharding.AbstractMesh((), ())
    with mlir.make_ir_context(), mlir.ir.Location.unknown():
        made = rule(*static_args, mesh, types(shapes), types(results))
    text, kinds = made if isinstance(made, tuple | list) else (made, {})
    if isinstance(text, str):
        return str_to_sdy_sharding_rule(text, **kinds)
    if not hasattr(text, "operand_mappings"):
        raise TypeError(f"its result is {text!r}, no rule")
    return text


def _tree(tree):
    """JAX has some trees as functions that return them."""
    return tree() if callable(tree) and not hasattr(tree, "unflatten") else tree
