"""Determines which outputs are the next value of which argument.

An argument and a part of the result correspond if they are the same tree with leaves of
the same shapes and dtypes.

    step(params, momentum, x) -> (loss, {"momentum": ..., "params": ...})

With n leaves each, the next value of params is outputs n+1..2n: both parts of the
result fit, and the one of the same name is preferred. Where names do not tell, of
several arguments that fit (the networks of a game, a model and its average), the one
that a part is made of in the fewest operations: an update adds to what was there.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from meshwright.errors import MeshwrightError
from meshwright.flat_program import Distances, unchanged
from meshwright.naming import key_text
from meshwright.tracing import Argument, TracedStep

Selection = int | str | Iterable[int | str] | None


@dataclass(frozen=True)
class Subtree:
    """A part of the result: its own key, its structure, and its outputs."""

    key: str
    structure: object  # jax.tree_util.PyTreeDef
    outputs: range


class Pairing:
    """Assigns parts of the result to arguments, each output at most once."""

    def __init__(self, result, start: int = 0):
        """`result` is the pytree of output shapes, as jax reports it; `start` is the
        index of its first output."""
        import jax

        paths, structure = jax.tree_util.tree_flatten_with_path(result)
        self._types = [_type(leaf) for _, leaf in paths]
        self._subtrees = list(_subtrees(structure, [path for path, _ in paths]))
        self._start = start
        self.taken: set[int] = set()  # Leaves of the result.

    def take(self, name: str, argument) -> range | None:
        """The outputs that are the next value of the argument, or None.

        If several parts fit, takes the one whose key is the argument's name, or else
        the first; a tree comes before its own subtrees.
        """
        fitting = self._fitting(argument)
        namesakes = [subtree for subtree in fitting if subtree.key == name]
        found = (namesakes or fitting)[:1]
        return self._take(found[0]) if found else None

    def assign(self, arguments: Iterable[Argument], traced) -> dict[str, range]:
        """By name, the outputs that are the next values of these arguments, of those
        that have any; `traced` is the program."""
        left = [argument for argument in arguments if argument.leaves]
        taken: dict[str, range] = {}
        for argument in list(left):
            if any(part.key == argument.name for part in self._fitting(argument.tree)):
                taken[argument.name] = self.take(argument.name, argument.tree)
                left.remove(argument)
        distances = Distances(traced)
        while left:
            like = [one for one in left if _types(one.tree) == _types(left[0].tree)]
            parts = self._fitting(left[0].tree)
            if not parts:
                left = [one for one in left if one not in like]
                continue
            best, part = left[0], parts[0]
            if len(like) > 1:
                best, part = min(
                    ((one, part) for one in like for part in parts),
                    key=lambda pair: distances.between(
                        pair[0].parameters, [i + self._start for i in pair[1].outputs]
                    ),
                )
            taken[best.name] = self._take(part)
            left.remove(best)
        return taken

    def _fitting(self, argument) -> list[Subtree]:
        types, structure = _types(argument)
        return [
            subtree
            for subtree in self._subtrees
            if subtree.structure == structure
            and [self._types[i] for i in subtree.outputs] == types
            and self.taken.isdisjoint(subtree.outputs)
        ]

    def _take(self, part: Subtree) -> range:
        self.taken.update(part.outputs)
        return range(part.outputs.start + self._start, part.outputs.stop + self._start)


def pair_state(step: TracedStep, selection: Selection) -> dict[int, int]:
    """Parameter index -> output index for every leaf of the state."""
    pairing = Pairing(step.result, step.outputs.start)
    chosen = None if selection is None else _select(step.arguments, selection)
    pairs = _pair_objects(step, pairing, chosen)

    def pair(candidates: list[Argument]) -> set[str]:
        taken = pairing.assign(candidates, step.traced)
        for arg in candidates:
            if arg.name in taken:
                pairs.update(zip(arg.parameters, taken[arg.name], strict=True))
        return taken.keys()

    if chosen is not None:
        rest = [arg for arg in chosen if not pairs.keys() & set(arg.parameters)]
        paired = pair(rest)
        for arg in rest:
            if arg.leaves and arg.name not in paired:
                raise MeshwrightError(
                    f"state argument {arg.name!r} has no matching output: no part of "
                    "the result has its tree, shapes and dtypes"
                )
        return pairs
    rest = [arg for arg in step.arguments if not pairs.keys() & set(arg.parameters)]
    if not pair([arg for arg in rest if arg.donated]):
        pair([arg for arg in rest if not arg.is_like_losses])
    return pairs


def _pair_objects(
    step: TracedStep, pairing: Pairing, chosen: list[Argument] | None
) -> dict[int, int]:
    """The next value of an nnx object is its content after the call or, if the step did
    not change it, the part of the result that corresponds to it."""
    pairs = {}
    for found in step.objects:
        parameters = list(found.parameters.values())
        owners = [a for a in step.arguments if set(parameters) <= set(a.parameters)]
        if not parameters or (chosen is not None and owners[0] not in chosen):
            continue
        outputs = [found.outputs[name] for name in found.parameters]
        if all(map(partial(unchanged, step.traced), parameters, outputs)):
            leaves = [owners[0].leaves[i - owners[0].start] for i in parameters]
            like = OrderedDict(zip(found.parameters, leaves, strict=True))
            outputs = pairing.take(owners[0].name, like) or outputs
        pairs |= zip(parameters, outputs, strict=True)
    return pairs


def _select(arguments: list[Argument], selection: Selection) -> list[Argument]:
    if isinstance(selection, int | str):
        selection = [selection]
    by_name = {argument.name: argument for argument in arguments}
    chosen = []
    for item in selection:
        if isinstance(item, str) and item in by_name:
            chosen.append(by_name[item])
        elif isinstance(item, int) and -len(arguments) <= item < len(arguments):
            chosen.append(arguments[item])
        else:
            raise MeshwrightError(
                f"state={item!r} is not an argument; there are {', '.join(by_name)}"
            )
    return chosen


def _subtrees(structure, paths, start: int = 0, depth: int = 0) -> Iterator[Subtree]:
    """The tree and all its subtrees that have leaves; `paths` are those of the
    leaves."""
    if structure.num_leaves == 0:
        return
    key = key_text(paths[start][depth - 1]) if depth else ""
    yield Subtree(key, structure, range(start, start + structure.num_leaves))
    for child in structure.children():
        yield from _subtrees(child, paths, start, depth + 1)
        start += child.num_leaves


def _types(tree) -> tuple[list, object]:
    import jax

    leaves, structure = jax.tree_util.tree_flatten(tree)
    return list(map(_type, leaves)), structure


def _type(leaf) -> tuple:
    return tuple(leaf.shape), leaf.dtype
