"""The argument `batch` of `lower`: which dimension of each input is the batch
dimension."""

from collections.abc import Mapping, Sequence

from meshwright.errors import MeshwrightError

Batch = int | Mapping[str, int | None] | None


def batch_dimensions(
    batch: Batch, names: Sequence[str], ranks: Sequence[int], data: Sequence[bool]
) -> dict[int, int]:
    """Parameter index -> batch dimension, for parameters that have one.

    >>> batch_dimensions({"b": 1, "b/len": 0}, ["w", "b/x", "b/len"], [2, 2, 1],
    ...                  [False, True, True])
    {1: 1, 2: 0}
    """
    if batch is None:
        return {}
    by_name = batch if isinstance(batch, Mapping) else {"": batch}
    for name, dimension in by_name.items():
        _check(batch, name, dimension, names, ranks, data)
    found = {}
    for index, name in enumerate(names):
        # The longest name counts: a leaf's own, or that of a tree that contains it.
        around = [key for key in by_name if _is_under(name, key)]
        dimension = by_name[max(around, key=len)] if around else None
        if data[index] and dimension is not None and dimension < ranks[index]:
            found[index] = dimension
    if not found:
        raise MeshwrightError(f"batch={batch!r} gives no data a batch")
    return found


def _is_under(name: str, key: str) -> bool:
    return key in ("", name) or name.startswith(key + "/")


def _check(batch, key, dimension, names, ranks, data) -> None:
    whole = isinstance(dimension, int) and not isinstance(dimension, bool)
    if not (dimension is None and isinstance(batch, Mapping)) and not (
        whole and dimension >= 0
    ):
        raise MeshwrightError(
            f"batch={batch!r}: {dimension!r} is not the number of a dimension"
        )
    under = [i for i, name in enumerate(names) if _is_under(name, key)]
    if not any(data[i] for i in under):
        known = ", ".join(n for n, is_data in zip(names, data, strict=True) if is_data)
        raise MeshwrightError(
            f"batch={batch!r}: {key!r} is no data; there is {known or 'none'}"
        )
    if key in names and dimension is not None and dimension >= ranks[under[0]]:
        raise MeshwrightError(
            f"batch={batch!r}: {key!r} has {ranks[under[0]]} dimensions"
        )
