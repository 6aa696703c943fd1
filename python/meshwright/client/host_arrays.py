"""NumPy arrays as tensors of a job: types by HLO's names, bytes row by row."""

import functools
import re

from meshwright.errors import MeshwrightError

_LETTERS = {"bfloat": "bf", "float": "f", "int": "s", "uint": "u", "complex": "c"}
_WORDS = {letter: word for word, letter in _LETTERS.items()}


@functools.cache
def type_name(dtype) -> str:
    """`float32` -> `f32`, `bool` -> `pred`, `float8_e4m3fn` -> `f8e4m3fn`."""
    name = str(dtype)
    if name == "bool":
        return "pred"
    found = re.fullmatch(r"([a-z]+?)(\d\w*)", name)
    if not found or found[1] not in _LETTERS:
        raise MeshwrightError(f"arrays of {name} cannot be given to a job")
    return _LETTERS[found[1]] + found[2].replace("_", "")


@functools.cache
def dtype_of(name: str):
    """The inverse of `type_name`."""
    import ml_dtypes
    import numpy as np

    if name == "pred":
        return np.dtype(bool)
    found = re.fullmatch(r"(bf|f|s|u|c)(\d+)(\w*)", name)
    if not found:
        raise MeshwrightError(f"{name} is not a type of arrays")
    word = _WORDS[found[1]] + found[2] + ("_" + found[3] if found[3] else "")
    return np.dtype(getattr(ml_dtypes, word, None) or word)


def array_like(name: str, dimensions: list[int]):
    """An array that is still to be filled."""
    import numpy as np

    return np.empty(dimensions, dtype_of(name))


def bytes_of(array) -> memoryview:
    """The bytes of a C-ordered array, not copied."""
    import numpy as np

    # Not by the buffer protocol: it does not know the types of ml_dtypes.
    return memoryview(array.reshape(-1).view(np.uint8)).cast("B")


class Converted:
    """An array that is copied as one of another type."""

    def __init__(self, source, dtype):
        self.source, self.dtype = source, dtype
        self.shape, self.size = source.shape, source.size
        self.nbytes = self.size * dtype.itemsize


def host_array(leaf):
    """An array, a number or a PRNG key on the host, of the type that jax gives it;
    copied if it must."""
    import numpy as np

    array = _plain_array(leaf)
    return np.asarray(array, canonical(array.dtype))


def given_array(leaf):
    """The same, not copied yet. TypeError for what jax refuses, too. The type is that
    of this thread, as jax's setting for 64 bits is."""
    array = _plain_array(leaf)
    dtype = canonical(array.dtype)
    return array if array.dtype == dtype else Converted(array, dtype)


def _plain_array(leaf):
    import numpy as np

    from meshwright.keys import raw

    if isinstance(leaf, np.ma.MaskedArray) or (
        isinstance(leaf, int) and not fits(leaf)
    ):
        raise TypeError
    return np.asarray(raw(leaf))


def fits(number: int) -> bool:
    """Whether it is one of those that jax makes arrays of."""
    import numpy as np

    bounds = np.iinfo(canonical(np.dtype(int)))
    return bounds.min <= number <= bounds.max


def canonical(dtype):
    """What jax makes of it: float32 of float64, unless told otherwise."""
    import jax

    return _canonical(dtype, jax.config.jax_enable_x64)


@functools.cache
def _canonical(dtype, _):
    import jax

    return jax.dtypes.canonicalize_dtype(dtype)
