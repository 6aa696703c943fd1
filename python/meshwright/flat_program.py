"""Retraces a traced function as a function from flat arrays to flat arrays.

This reverses what `jax.jit` does on the way to HLO, and removes what HLO cannot
represent: `jax.jit` drops unused arguments and gives PRNG keys sharding annotations
that no one requested; callbacks need Python; and a function that is jitted inside
becomes a call.
"""

import math
from collections.abc import Sequence

from meshwright.callbacks import without_callbacks
from meshwright.keys import is_key, key_wrapper, raw

_JIT = ("pjit", "jit")


def needs_flattening(traced) -> bool:
    """Whether there are typed PRNG keys, callbacks, or a function jitted inside."""
    import jax

    leaves = jax.tree_util.tree_leaves((traced.args_info, traced.out_info))
    jaxpr = traced.jaxpr.jaxpr
    return any(map(is_key, leaves)) or bool(jaxpr.effects) or _is_call(jaxpr)


def flatten(traced, outputs: Sequence[int] | None = None, jaxpr=None):
    """The same program, with every leaf as an argument, and keys as raw integers.

    Returns only the results numbered `outputs`, by default all. `jaxpr` is what the
    function was rewritten as.
    """
    import jax

    leaves = jax.tree_util.tree_leaves(traced.args_info)
    program = _as_function(without_callbacks(jaxpr or traced.jaxpr))
    wrappers = [key_wrapper(leaf) for leaf in leaves]

    def flat(*arrays):
        results = program(*(wrap(x) for wrap, x in zip(wrappers, arrays, strict=True)))
        chosen = range(len(results)) if outputs is None else outputs
        return [raw(results[i]) for i in chosen]

    flat.__name__ = traced.fun_name
    jitted = jax.jit(
        flat,
        keep_unused=True,
        donate_argnums=[i for i, leaf in enumerate(leaves) if leaf.donated],
    )
    structs = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
    return jitted.trace(*(jax.eval_shape(raw, struct) for struct in structs))


def _is_call(jaxpr) -> bool:
    """Whether the program only calls a jitted function."""
    return len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name in _JIT


def _as_function(closed_jaxpr):
    from jax.extend.core import Literal, jaxpr_as_fun

    jaxpr = closed_jaxpr.jaxpr
    if not _is_call(jaxpr):
        return jaxpr_as_fun(closed_jaxpr)
    (call,) = jaxpr.eqns
    inner = _as_function(call.params["jaxpr"])

    def read(values, atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    def function(*arrays):
        values = dict(zip(jaxpr.constvars, closed_jaxpr.consts, strict=True))
        values |= zip(jaxpr.invars, arrays, strict=True)
        results = inner(*(read(values, atom) for atom in call.invars))
        values |= zip(call.outvars, results, strict=True)
        return [read(values, atom) for atom in jaxpr.outvars]

    return function


def unchanged(traced, parameter: int, output: int) -> bool:
    """Whether the output is one of the parameters, unmodified."""
    jaxpr = traced.jaxpr.jaxpr
    return _origin(jaxpr, jaxpr.outvars[output]) is jaxpr.invars[parameter]


def _origin(jaxpr, atom):
    """The variable whose value `atom` has, looking through jitted functions."""
    for call in jaxpr.eqns if _is_call(jaxpr) else ():
        for index, variable in enumerate(call.outvars):
            if variable is atom:
                inner = call.params["jaxpr"].jaxpr
                source = _origin(inner, inner.outvars[index])
                places = [i for i, v in enumerate(inner.invars) if v is source]
                return call.invars[places[0]] if places else atom
    return atom


class Distances:
    """How many operations are between parameters of a program and its outputs."""

    _LEAVES = 4  # Of a tree, so many are looked at.

    def __init__(self, traced):
        self._jaxpr = traced.jaxpr.jaxpr
        self._found: dict[int, list[float]] = {}  # By parameter, to each output.

    def between(self, parameters: Sequence[int], outputs: Sequence[int]) -> float:
        """Of trees, leaf by leaf; infinite if an output does not depend on its
        parameter."""
        pairs = list(zip(parameters, outputs, strict=True))
        return sum(self._of(p)[output] for p, output in pairs[: self._LEAVES])

    def _of(self, parameter: int) -> list[float]:
        if parameter not in self._found:
            distances = [math.inf] * len(self._jaxpr.invars)
            distances[parameter] = 0
            self._found[parameter] = _distances(self._jaxpr, distances)
        return self._found[parameter]


def _distances(jaxpr, before: Sequence[float]) -> list[float]:
    """Of the outputs, given those of the inputs."""
    from jax.extend.core import Literal

    at = dict(zip(jaxpr.invars, before, strict=True))

    def distance(atom) -> float:
        return math.inf if isinstance(atom, Literal) else at.get(atom, math.inf)

    for eqn in jaxpr.eqns:
        own = [distance(atom) for atom in eqn.invars]
        if min(own, default=math.inf) == math.inf:
            continue
        if eqn.primitive.name in _JIT:
            after = _distances(eqn.params["jaxpr"].jaxpr, own)
        else:
            after = [min(own) + _operations(eqn)] * len(eqn.outvars)
        at |= zip(eqn.outvars, after, strict=True)
    return [distance(atom) for atom in jaxpr.outvars]


def _operations(eqn) -> int:
    """One, and those of the programs in it: a loop is not a step away."""
    inner = [
        p for p in eqn.params.values() if hasattr(p, "eqns") or hasattr(p, "jaxpr")
    ]
    return 1 + sum(len(getattr(p, "jaxpr", p).eqns) for p in inner)
