"""By which calls of a step are told apart: those of one form share a plan and a job."""

from meshwright.arrays import Held, is_array, is_weak
from meshwright.client.state import State
from meshwright.data import Dataset


def key_of(leaf):
    """What of a leaf another plan depends on."""
    if isinstance(leaf, State):
        return leaf.form.key
    if isinstance(leaf, Dataset):
        return tuple((k, v.shape, v.dtype) for k, v in leaf.shapes.items())
    if is_array(leaf):
        return leaf.shape, leaf.dtype, is_weak(leaf)
    if isinstance(leaf, Held):
        return type(leaf.value), leaf.value
    if isinstance(leaf, bool | int | float | complex):
        return type(leaf)
    return leaf
