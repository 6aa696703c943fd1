"""What stands for an array and acts as one: in sums, comparisons, formats, as a number.

class Held(ActsAsArray):
    def _as_array(self): return np.ones(3)

2 * Held() < 3, float(Held().sum()), Held().mean()
"""

import operator

_ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow"]
_OPERATORS = [*_ARITHMETIC, "matmul", "lshift", "rshift", "and", "or", "xor"]
_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
_UNARY = ["neg", "pos", "abs", "invert", "int", "float", "complex", "index"]
_BUILT_IN = {
    "abs": abs,
    "complex": complex,
    "divmod": divmod,
    "float": float,
    "int": int,
}


class ActsAsArray:
    """`_as_array` gives the array, of NumPy, or raises TypeError."""

    def __bool__(self) -> bool:
        return bool(self._as_array())

    def __format__(self, text: str) -> str:
        array = self._as_array()
        # Arrays of NumPy have no formats, those of jax that are scalars do.
        return format(array if array.ndim else array.item(), text)

    # Comparisons give arrays; as a key it is itself.
    __hash__ = object.__hash__

    def _of_array(self, name: str):
        """`mean`, `item`, `T` ...; AttributeError if arrays have none of that name."""
        import numpy as np

        if not hasattr(np.ndarray, name):
            raise AttributeError(name)
        return getattr(self._as_array(), name)


def _add(name: str, is_reflected: bool = False) -> None:
    apply = _BUILT_IN.get(name) or getattr(operator, f"__{name}__")

    def method(self, *others):
        own = self._as_array()
        if any(isinstance(other, ActsAsArray) for other in others):
            others = [other._as_array() for other in others]
        return apply(*others, own) if is_reflected else apply(own, *others)

    method.__name__ = f"__r{name}__" if is_reflected else f"__{name}__"
    setattr(ActsAsArray, method.__name__, method)


for _name in _OPERATORS:
    _add(_name)
    _add(_name, is_reflected=True)
for _name in _COMPARISONS:
    _add(_name)
for _name in _UNARY:
    _add(_name)
