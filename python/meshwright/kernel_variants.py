"""The bodies of kernels for the local shapes that a plan may need.

A module that `lower` makes of a step with kernels contains, in addition to the step,
one computation for each split of a kernel's factors; `docs/formats.md` describes how
calls refer to them. The number of parts of a factor divides its size, and the total
number of parts is 1, 3, 5 or 7 times a power of two. For powers of two there are at
most `limit` variants, for the other totals half as many: those with the fewest parts.
"""

import itertools
from collections.abc import Iterator
from math import prod

from meshwright.errors import MeshwrightError, in_one_line, warn
from meshwright.kernel_module import FLOPS, TRANSPARENT, VARIANT_LIMIT, KernelModule
from meshwright.kernel_rule import Rule
from meshwright.kernels import KernelCall, Reference

LIMIT = 64
_ODD_PARTS = (1, 3, 5, 7)  # In a number of devices or micro-batches.


def add_kernels(hlo: bytes, jaxpr, platform: str, limit: int = LIMIT) -> bytes:
    """The module of `jaxpr` with the variants of its kernels."""
    calls = {str(found): found.call for found in _references(jaxpr)}
    if not calls:
        return hlo
    module = KernelModule(hlo)
    known, alike = {}, {}
    for number in module.numbers():
        call = calls[number]
        if call.key not in known:
            names = []
            # Those may be split nevertheless.
            quiet = call.is_transparent and module.has_custom_calls(number)
            for body in _variants(call, platform, limit, quiet):
                if body not in alike:
                    alike[body] = module.add(call.name, body)
                names.append(alike[body])
            known[call.key] = names
        more = _attributes(call, limit)
        module.set_kernel(number, call.name, call.rule, known[call.key], more)
    return module.serialize()


def _attributes(call: KernelCall, limit: int) -> dict[str, str]:
    more = {TRANSPARENT: "true"} if call.is_transparent else {}
    if call.flops is not None:
        more[FLOPS] = repr(call.flops)
    beyond = beyond_limit(call.fitted, limit)
    if beyond:
        more[VARIANT_LIMIT] = f"{beyond[0]},{beyond[1]}"
    return more


def beyond_limit(rule: Rule, limit: int) -> tuple[int, int] | None:
    """If there are splits beyond the limit: the fewest parts of one, and the limit with
    which there are none.

    >>> from meshwright.kernel_rule import fit
    >>> beyond_limit(fit("b n -> b n", [(4, 2)], [(4, 2)]), 4)
    (4, 6)
    """
    powers, others = _every_way(rule)
    beyond = powers[limit:] + others[limit // 2 :]
    if not beyond:
        return None
    fewest = min(prod(ways.values()) for ways in beyond)
    return fewest, max(len(powers), 2 * len(others))


def ways_of(rule: Rule, limit: int) -> list[dict[str, int]]:
    """The splits of factors into numbers of parts, fewest parts in total first.

    >>> from meshwright.kernel_rule import fit
    >>> ways_of(fit("b n -> b n", [(4, 2)], [(4, 2)]), 4)
    [{'b': 1, 'n': 1}, {'b': 2, 'n': 1}, {'b': 1, 'n': 2}, {'b': 4, 'n': 1}]
    """
    powers, others = _every_way(rule)
    return powers[:limit] + others[: limit // 2]


def _every_way(rule: Rule) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Splits into powers of two parts, and into others; fewest parts first."""
    divisors = [_divisors(rule.sizes[factor]) for factor in rule.splittable]
    every = [
        dict(zip(rule.splittable, ways, strict=True))
        for ways in itertools.product(*map(reversed, divisors))
    ]
    every.sort(key=lambda ways: prod(ways.values()))
    odd = [_odd_part(prod(ways.values())) for ways in every]
    powers = [ways for ways, part in zip(every, odd, strict=True) if part == 1]
    others = [
        ways for ways, part in zip(every, odd, strict=True) if part in _ODD_PARTS[1:]
    ]
    return powers, others


def _divisors(size: int) -> list[int]:
    """The divisors that can be numbers of parts on some mesh."""
    found = [1]
    for odd in _ODD_PARTS:
        way = odd
        while way <= max(size, 1):
            if way > 1 and size % way == 0:
                found.append(way)
            way *= 2
    return sorted(found)


def _odd_part(number: int) -> int:
    return number // (number & -number)


def _references(jaxpr) -> Iterator[Reference]:
    """References to all kernels in a program, including nested programs."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        for value in equation.params.values():
            yield from _references_in(value)


def _references_in(value) -> Iterator[Reference]:
    from jax.extend.core import ClosedJaxpr, Jaxpr

    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Jaxpr | ClosedJaxpr):
        yield from _references(value)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _references_in(item)


def _variants(
    call: KernelCall, platform: str, limit: int, quiet: bool
) -> Iterator[bytes]:
    """The HLO of the kernel's bodies, except that for its own shapes. Warns, unless it
    is `quiet`, if there are none."""
    failure, made = None, 0
    for ways in ways_of(call.fitted, limit)[1:]:
        try:
            body = _lower(call, ways, platform)
        except MeshwrightError:
            raise
        except Exception as error:  # Any error of the kernel for such shapes.
            failure = failure or (ways, error)
            continue
        made += 1
        yield body
    if failure and not made and not quiet:
        ways, error = failure
        warn(
            f"kernel {call.name} cannot be split: with {_words(ways)} it raises "
            f"{in_one_line(error)}"
        )


def _lower(call: KernelCall, ways: dict[str, int], platform: str) -> bytes:
    import jax

    from meshwright.stablehlo import bytecode, stablehlo_to_hlo

    operands, results = call.fitted.local(ways)
    structs = [
        jax.ShapeDtypeStruct(dims, dtype)
        for dims, dtype in zip(operands, call.dtypes, strict=True)
    ]

    part = call.part(ways)

    def body(*leaves):
        return part(*leaves)

    body.__name__ = call.name
    traced = jax.jit(body, keep_unused=True).trace(*structs)
    got = jax.tree_util.tree_leaves(traced.out_info)
    for i, (dims, whole) in enumerate(zip(results, call.results, strict=True)):
        if (got[i].shape, got[i].dtype) != (dims, whole.dtype):
            raise MeshwrightError(
                f"kernel {call.name}: its rule '{call.rule}': with {_words(ways)} "
                f"result {i} is {list(got[i].shape)}, by the rule {list(dims)}"
            )
    lowered = traced.lower(lowering_platforms=(platform,))
    return stablehlo_to_hlo(bytecode(lowered.compiler_ir()), return_tuple=False)


def _words(ways: dict[str, int]) -> str:
    """'b in 2 parts'."""
    split = [f"{name} in {way} parts" for name, way in ways.items() if way > 1]
    return " and ".join(split)
