"""Regions of shared memory that one call uses.

    with Loans(memory) as loans:
        parts = list(tensor_parts(tensors, loans))
        into = loans.into({"w": 4 << 20})
        ...                             # The call, up to its answer.
        array = loans.array("w", dtype, shape)

A call that ends without an answer may be one that the engine is still at: its regions
are not used again. Nor are those that a failed call was to fill: a worker that a
coordinator has lost may only have been silent.
"""

from collections.abc import Iterable, Mapping

from meshwright.client.shared_memory import Region, SharedMemory
from meshwright.errors import MeshwrightError

# Smaller tensors go in messages, whose cost is that of the call.
SHARED_BYTES = 64 << 10


class NoAnswer(MeshwrightError):
    """There is no answer to a call: the connection broke, or it was cancelled."""


class Loans:
    def __init__(self, memory: SharedMemory | None):
        self._memory = memory
        self._given: list[Region] = []
        self._wanted: dict[str, Region] = {}

    def __enter__(self) -> "Loans":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None or (
            issubclass(kind, MeshwrightError) and not issubclass(kind, NoAnswer)
        ):
            for region in self._given:
                region.give_back()
            for region in self._wanted.values():
                region.give_back() if kind is None else region.abandon()
        self._given, self._wanted = [], {}

    def take(self, size: int) -> Region | None:
        """For what is sent; None: it goes in messages."""
        if self._memory is None or size < SHARED_BYTES:
            return None
        region = self._memory.take(size)
        if region is not None:
            self._given.append(region)
        return region

    def into(self, wanted: Iterable[tuple[str, int]]) -> list[Region | None]:
        """For what is fetched, by name and size."""
        if self._memory is None:
            return []
        regions = []
        for name, size in wanted:
            region = None
            if size >= SHARED_BYTES and name not in self._wanted:
                region = self._memory.take(size)
            if region is not None:
                self._wanted[name] = region
            regions.append(region)
        return regions if any(regions) else []

    def outside(self, wanted: Mapping[str, int]) -> int:
        """The bytes of what comes in messages."""
        return sum(size for name, size in wanted.items() if name not in self._wanted)

    def array(self, name: str, dtype, shape):
        """What has been fetched; the region is the array's from now on."""
        return self._wanted.pop(name).into_array(dtype, shape)
