"""Rules of kernels: one line that gives the dimensions of operands and results as
factors.

The notation is that of `docs/formats.md`, and errors are those of the planner, which
parses the same lines (`rules/rule_text.h`).

    >>> rule = fit("b n, n -> b n {need_replication: n}", [(8, 4), (4,)], [(8, 4)])
    >>> rule.sizes, rule.splittable
    ({'b': 8, 'n': 4}, ['b'])
    >>> rule.local({"b": 2})
    ([(4, 4), (4,)], [(4, 4)])
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from meshwright.errors import MeshwrightError

Dims = tuple[int, ...]
Names = list[list[str]]  # By dimension, major first.

_KINDS = ("reduction", "need_replication", "permutation", "blocked_propagation")
_WHOLE = ("need_replication", "permutation")
_REDUCTIONS = ("sum", "max", "min", "product")


@dataclass(frozen=True)
class Rule:
    """A rule together with the shapes it was applied to."""

    operands: list[Names]
    results: list[Names]
    sizes: dict[str, int]
    splittable: list[str]  # Factors that may be split, in order of appearance.

    def local(self, ways: dict[str, int]) -> tuple[list[Dims], list[Dims]]:
        """The shapes of operands and results if factors are split into this many
        parts."""

        def dims(names: Names) -> Dims:
            return tuple(
                prod(self.sizes[name] // ways.get(name, 1) for name in dim)
                for dim in names
            )

        return [dims(t) for t in self.operands], [dims(t) for t in self.results]


def fit(text: str, operands: Sequence[Dims], results: Sequence[Dims]) -> Rule:
    """The rule in `text`, applied to these shapes. Raises MeshwrightError, in one
    line."""
    named = _Reader(text).read()
    tensors = _pair("operand", operands, named.operands)
    tensors += _pair("result", results, named.results)
    for tensor in tensors:
        tensor.expand(tensors)
    for most in (1, 1 << 20):  # First, dimensions of a single factor.
        for tensor in tensors:
            tensor.count(most, named.sizes)
    for tensor in tensors:
        tensor.check(named.sizes)
    _check_kinds(named, tensors)
    order = dict.fromkeys(f for t in tensors for dim in t.names for f in dim)
    read = {f for t in tensors if t.what == "operand" for dim in t.names for f in dim}
    return Rule(
        [tensor.names for tensor in tensors if tensor.what == "operand"],
        [tensor.names for tensor in tensors if tensor.what == "result"],
        {name: named.sizes[name] for name in order},
        [f for f in order if f in read and named.kinds.get(f) not in _WHOLE],
    )


@dataclass
class _Named:
    """A parsed rule without shapes."""

    operands: list[Names]
    results: list[Names]
    sizes: dict[str, int]
    kinds: dict[str, str]


def with_leading(text: str, batched: Sequence[bool]) -> str:
    """The rule with a new leading dimension in all results and some operands.

    >>> with_leading("b n, n -> b n {need_replication: n}", [True, False])
    'v0 b n, n -> v0 b n {need_replication: n}'
    """
    taken = re.findall(r"\w+", text)
    factor = next(f"v{i}" for i in itertools.count() if f"v{i}" not in taken)
    shapes, brace, rest = text.partition("{")
    operands, _, results = shapes.partition("->")
    before = operands.split(",") if batched else []
    after = results.split(",")

    def add(tensor: str, is_batched: bool) -> str:
        return f"{factor} {tensor.strip()}".strip() if is_batched else tensor.strip()

    operands = ", ".join(map(add, before, batched))
    results = ", ".join(add(tensor, True) for tensor in after)
    return f"{operands} -> {results}{' ' + brace + rest if brace else ''}"


class _Reader:
    def __init__(self, text: str):
        self.rest = text

    def read(self) -> _Named:
        rule = _Named(self.tensors(), [], {}, {})
        self.expect("->")
        rule.results = self.tensors()
        while self.take("{"):
            while not self.take("}"):
                self.say(rule)
                if not self.next_is("}"):
                    self.expect(";")
        if self.rest.strip():
            raise MeshwrightError(f"expected nothing {self.where()}")
        return rule

    def say(self, rule: _Named) -> None:
        """Parses one clause in braces, up to a semicolon."""
        name = self.name("a factor or a kind of factors")
        if self.take("="):
            rule.sizes[name] = int(self.match(r"\d+", "a number"))
            return
        if name not in _KINDS:
            raise MeshwrightError(
                f"'{name}' is no kind of factor; there are reduction, "
                "need_replication, permutation"
            )
        if name == "reduction" and not self.next_is(":"):
            how = self.name("a reduction")
            if how not in _REDUCTIONS:
                raise MeshwrightError(
                    f"'{how}' is no reduction; there are sum, max, min, product"
                )
        self.expect(":")
        while not self.next_is(";", "}"):
            rule.kinds[self.name("a factor")] = name

    def tensors(self) -> list[Names]:
        tensors = [self.tensor()]
        while self.take(","):
            tensors.append(self.tensor())
        return tensors

    def tensor(self) -> Names:
        names = []
        while self.rest.strip() and not self.next_is(",", "->", "{"):
            if self.take("..."):
                names.append(["..."])
            elif self.take("("):
                names.append([])
                while not self.take(")"):
                    names[-1].append(self.name("a factor"))
            else:
                names.append([self.name("a factor")])
        return names

    def next_is(self, *tokens: str) -> bool:
        return self.rest.lstrip().startswith(tokens)

    def take(self, token: str) -> bool:
        found = self.next_is(token)
        if found:
            self.rest = self.rest.lstrip()[len(token) :]
        return found

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise MeshwrightError(f"expected '{token}' {self.where()}")

    def name(self, what: str) -> str:
        return self.match(r"[A-Za-z0-9_.]+", what)

    def match(self, pattern: str, what: str) -> str:
        found = re.match(pattern, self.rest.lstrip())
        if not found:
            raise MeshwrightError(f"expected {what} {self.where()}")
        self.rest = self.rest.lstrip()[found.end() :]
        return found[0]

    def where(self) -> str:
        rest = self.rest.lstrip()[:60]
        return f"before '{rest}'" if rest else "at the end"


@dataclass
class _Tensor:
    """A tensor and its dimensions in the rule."""

    what: str  # "operand" or "result"
    index: int
    dims: Dims
    names: Names
    rest: int | None = None  # How many dimensions '...' stands for, if present.

    def __str__(self) -> str:
        return f"{self.what} {self.index} [{','.join(map(str, self.dims))}]"

    def expand(self, others: "list[_Tensor]") -> None:
        """Gives each dimension of '...' its own factor; afterwards, every dimension has
        names."""
        if ["..."] in self.names and len(self.dims) + 1 >= len(self.names):
            self.rest = len(self.dims) + 1 - len(self.names)
            before = [t.rest for t in others if t.rest is not None]
            if before[0] != self.rest:
                raise MeshwrightError(
                    f"{self}: '...' is {self.rest} dimensions here, {before[0]} before"
                )
            at = self.names.index(["..."])
            self.names[at : at + 1] = [[f"...{i}"] for i in range(self.rest)]
        if len(self.names) != len(self.dims):
            raise MeshwrightError(
                f"{self} has {len(self.dims)} dimensions, the rule {len(self.names)}"
            )
        seen = [name for dim in self.names for name in dim]
        if "..." in seen:
            raise MeshwrightError(
                f"{self.what} {self.index}: '...' stands for dimensions, once"
            )
        for name in seen:
            if seen.count(name) > 1:
                raise MeshwrightError(
                    f"{self.what} {self.index}: factor {name} stands there twice"
                )

    def count(self, most: int, sizes: dict[str, int]) -> None:
        """Computes the sizes of factors, from dimensions that have at most `most`
        factors."""
        for i, names in enumerate(self.names):
            unknown = [name for name in names if name not in sizes]
            if len(names) > most or not unknown:
                continue
            if len(unknown) > 1:
                raise MeshwrightError(
                    f"{self.what} {self.index}, dimension {i}: how large are "
                    f"{unknown[0]} and {unknown[1]}? Say one, as {{{unknown[0]}=4}}"
                )
            known = prod(sizes[name] for name in names if name in sizes)
            if known == 0 or self.dims[i] % known:
                raise MeshwrightError(
                    f"{self}, dimension {i}: {known} does not divide it"
                )
            sizes[unknown[0]] = self.dims[i] // known

    def check(self, sizes: dict[str, int]) -> None:
        for i, names in enumerate(self.names):
            if prod(sizes[name] for name in names) != self.dims[i]:
                why = f"but {names[0]} is {sizes[names[0]]}" if names else ""
                raise MeshwrightError(
                    f"{self}: dimension {i} is {self.dims[i]}, "
                    f"{why or 'and has no factor'}"
                )

    def has(self, factor: str) -> bool:
        return any(factor in dim for dim in self.names)


def _pair(what: str, shapes: Sequence[Dims], names: list[Names]) -> list[_Tensor]:
    if not shapes and names == [[]]:
        names = []  # A tensor without dimensions: nothing between commas.
    if len(shapes) != len(names):
        raise MeshwrightError(f"it has {len(shapes)} {what}s, the rule {len(names)}")
    return [
        _Tensor(what, i, tuple(dims), of)
        for i, (dims, of) in enumerate(zip(shapes, names, strict=True))
    ]


def _check_kinds(rule: _Named, tensors: list[_Tensor]) -> None:
    rest = [tensor.rest for tensor in tensors if tensor.rest is not None]
    if rest and "..." in rule.kinds:
        kind = rule.kinds.pop("...")
        rule.kinds |= {f"...{i}": kind for i in range(rest[0])}

    def without(name):
        """The first result that has elements, but not this factor."""
        return next(
            (
                tensor
                for tensor in tensors
                if tensor.what == "result" and prod(tensor.dims) > 0
                if not tensor.has(name)
            ),
            None,
        )

    for name in [*rule.kinds, *rule.sizes]:
        if not any(tensor.has(name) for tensor in tensors):
            raise MeshwrightError(f"no tensor has a factor {name}")
        if rule.kinds.get(name) == "reduction" and without(name) is None:
            raise MeshwrightError(f"factor {name} is reduced, but every result has it")
    for tensor in tensors:
        for name in (name for dim in tensor.names for name in dim):
            result = without(name)
            if tensor.what == "operand" and result and name not in rule.kinds:
                raise MeshwrightError(
                    f"result {result.index} has no factor {name}; {{reduction: "
                    f"{name}}} if it is a sum over it, {{need_replication: {name}}} "
                    f"if {name} must not be split"
                )
