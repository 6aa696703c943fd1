"""Names of arguments and leaves.

    step(state={"w": ..., "layers": [..., ...]}, lr)
    -> state/layers/0, state/layers/1, state/w, lr

A name is the argument's name and the path in its pytree, joined by slashes.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Sequence

from meshwright.errors import MeshwrightError
from meshwright.frameworks import is_nnx_variable

_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def positional_names(fn: Callable, count: int) -> list[str]:
    """The names of the first `count` positional arguments in the signature of `fn`.

    The arguments of `*args` are `args/0`, `args/1`, ...; those of a callable without a
    signature are `arg0`, `arg1`, ...
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return [f"arg{i}" for i in range(count)]
    names = [p.name for p in parameters if p.kind in _POSITIONAL]
    rest = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    names += [f"{name}/{i}" for name in rest for i in range(count - len(names))]
    return names[:count]


def leaf_names(tree, prefix: str = "", is_leaf: Callable | None = None) -> list[str]:
    """The name of each leaf of a pytree, in flat order.

    An nnx variable has the name of the attribute that holds it.
    """
    import jax

    def flat(value, is_leaf):
        return jax.tree_util.tree_flatten_with_path(value, is_leaf=is_leaf)[0]

    def stops(value) -> bool:
        return is_nnx_variable(value) or (is_leaf is not None and is_leaf(value))

    names = []
    for path, leaf in flat(tree, stops):
        inner = [path for path, _ in flat(leaf, is_leaf)]
        for rest in inner if len(inner) > 1 else [()] * len(inner):
            parts = [prefix, *map(key_text, (*path, *rest))]
            names.append("/".join(filter(None, parts)))
    return names


def recorded_names(arg_names: Sequence[str]) -> set[str]:
    """The argument names in the leaf names that jax records when it traces.

    >>> sorted(recorded_names(["state['w']", "args[0].mu", "lr"]))
    ['args', 'args/0', 'lr', 'state']
    """
    names = set()
    for text in arg_names:
        top, index = re.match(r"(\w*)(?:\[(\d+)\])?", text).groups()
        names |= {top, f"{top}/{index}"} if index else {top}
    return names


def require_unique(names: Sequence[str], what: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise MeshwrightError(
            f"{what} names are not unique: {repeated[0]!r} occurs more than once; "
            "rename the dictionary keys or give other names="
        )


def key_text(key) -> str:
    """A pytree key without its punctuation: ['w'], .mu and [0] -> w, mu and 0."""
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)
