"""Shards of arrays by device, and arrays of shards, for kernel_shards.py.

parts_of(array, "[data, -]", {"data": 2, "model": 4})   # eight, four of them equal
"""

import math

import numpy as np


def parts_of(array, spec: str, mesh: dict[str, int]) -> list:
    """The shards of an array, by device."""
    if not any(axis in mesh for axis in _axes(spec)):
        return [array] * math.prod(mesh.values())
    array = np.asarray(array)
    return [array[place] for place in _places(array.shape, spec, mesh)]


def joined(results: list, specs: list[str], mesh: dict[str, int]) -> list:
    """The outputs of all devices, given one device after the other, put together."""
    found = []
    for i, spec in enumerate(specs):
        parts = [np.asarray(one) for one in results[i :: len(specs)]]
        axes = _axes(spec) if parts[0].ndim else []
        sizes = [n * mesh.get(a, 1) for n, a in zip(parts[0].shape, axes, strict=True)]
        whole = np.empty(sizes, parts[0].dtype)
        for part, place in zip(parts, _places(sizes, spec, mesh), strict=True):
            whole[place] = part
        found.append(whole)
    return found


def _axes(spec: str) -> list[str]:
    return spec.strip("[]").split(", ")


def _places(sizes, spec: str, mesh: dict[str, int]):
    """Where in the array the shard of each device lies."""
    for coordinates in np.ndindex(*mesh.values()):
        at = dict(zip(mesh, coordinates, strict=True))
        place = []
        for size, axis in zip(sizes, _axes(spec) if len(sizes) else [], strict=True):
            part = size // mesh.get(axis, 1)
            place.append(slice(at.get(axis, 0) * part, (at.get(axis, 0) + 1) * part))
        yield tuple(place)
