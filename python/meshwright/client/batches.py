"""Many steps in one call, each with the next batches of the iterators among the
arguments."""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from meshwright.client.call_form import CallForm, next_leaves
from meshwright.client.prefetch import Prefetch
from meshwright.client.state import State
from meshwright.data import Dataset
from meshwright.errors import MeshwrightError


def is_source(argument) -> bool:
    return isinstance(argument, Iterator) and not isinstance(argument, Dataset | State)


def run_each(
    count: int,
    given: Mapping[int | str, object],
    prefetch: Callable[[Iterable], Prefetch],
    run: Callable[[Mapping], tuple[object, CallForm]],
):
    """`run` is a step with these arguments, by place or name, and batches in place of
    iterators; gives the result of the last."""
    import jax

    arguments = dict(given)
    sources = {key: one for key, one in given.items() if is_source(one)}
    with contextlib.ExitStack() as stack:
        for key, source in sources.items():
            if not isinstance(source, Prefetch):
                sources[key] = prefetch(itertools.islice(source, count))
                stack.callback(sources[key].close)
        for number in range(count):
            try:
                for key, source in sources.items():
                    arguments[key] = _next(source, number, count)
                result, form = run(arguments)
            except BaseException:
                # As after Ctrl-C: they stand for what the steps have made of them.
                leaves = jax.tree_util.tree_leaves(
                    [one for one in given.values() if not is_source(one)]
                )
                for leaf in leaves if number > 0 else ():
                    if isinstance(leaf, State):
                        leaf.renew()
                raise
            if number + 1 < count:
                leaves, structure = jax.tree_util.tree_flatten(call_of(arguments))
                after = structure.unflatten(next_leaves(form, leaves, result))
                arguments = arguments_of(*after)
    return result


def arguments_of(args: Sequence, kwargs: Mapping) -> dict[int | str, object]:
    return {**dict(enumerate(args)), **kwargs}


def call_of(arguments: Mapping[int | str, object]) -> tuple[tuple, dict]:
    """The inverse."""
    args = tuple(one for key, one in arguments.items() if isinstance(key, int))
    return args, {k: one for k, one in arguments.items() if isinstance(k, str)}


def _next(source: Iterator, done: int, count: int):
    try:
        return next(source)
    except StopIteration:
        raise MeshwrightError(
            f"the batches ended after {done} of {count} steps"
        ) from None
