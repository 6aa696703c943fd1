"""Names in records for the scalars that a step returns."""

from collections import Counter
from collections.abc import Iterable

from meshwright.lowered_module import LoweredModule, Output


def scalar_names(module: LoweredModule, fetched: Iterable[int]) -> dict[str, str]:
    """The fetched outputs that are real scalars, except the loss: their names, and
    those in records, `out/1/accuracy` -> `accuracy`."""
    names = [
        output.name
        for output in (module.outputs[i] for i in fetched if i != module.loss)
        if _is_real(output)
    ]
    count = Counter(map(_short, names))
    return {name: _short(name) if count[_short(name)] == 1 else name for name in names}


def _is_real(output: Output) -> bool:
    return not output.shape and not output.key and not output.dtype.startswith("c")


def _short(name: str) -> str:
    """The name without its position in the result's tuple."""
    parts = name.split("/")[1:]
    if len(parts) > 1 and parts[0].isdigit():
        parts = parts[1:]
    return "/".join(parts) if parts and not parts[0].isdigit() else name
