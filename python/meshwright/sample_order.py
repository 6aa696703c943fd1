"""Which sample a row of a batch is: the same computation as in meshwright/data/.

The two implementations are independent, and tests compare them.
"""

from bisect import bisect_right
from itertools import accumulate

from meshwright.errors import MeshwrightError

_MASK = (1 << 64) - 1
_ROUNDS = 6


def _mix(value: int) -> int:
    """The finaliser of splitmix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def derive_key(key: int, number: int) -> int:
    """The key of epoch, file or round `number`, derived from another key."""
    return _mix(key + 0x9E3779B97F4A7C15 * (number + 1) & _MASK)


def permuted(index: int, size: int, key: int) -> int:
    """Element `index` of [0, size) shuffled with the key."""
    half = ((size - 1).bit_length() + 1) // 2
    mask = (1 << half) - 1
    keys = [derive_key(key, round) for round in range(_ROUNDS)]
    while True:
        left, right = index >> half, index & mask
        for round_key in keys:
            left, right = right, left ^ (_mix(right ^ round_key) & mask)
        index = left << half | right
        if index < size:
            return index


class SampleOrder:
    """The order of the samples of files with `counts[i]` samples each."""

    def __init__(self, counts, batch, shuffle=None, shard_by="auto", sink=0):
        if shard_by not in ("auto", "sample", "file"):
            raise MeshwrightError(
                f"shard_by {shard_by!r} is none of auto, sample, file"
            )
        self._counts = list(counts)
        self._ends = list(accumulate(self._counts))
        self._batch, self._seed, self._sink = batch, shuffle, sink
        files = len(self._counts)
        self.by_file = shard_by == "file" or (shard_by == "auto" and files % batch == 0)
        if self.by_file and files % batch and batch % files:
            raise MeshwrightError(
                f'shard_by "file": {files} files cannot be shared out evenly over a '
                f"batch of {batch}"
            )
        if self._ends[-1] < batch:
            raise MeshwrightError(
                f"the files have {self._ends[-1]} samples, fewer than a batch of "
                f"{batch}"
            )

    def check(self, position: int) -> None:
        """Raises MeshwrightError if no batch starts there."""
        aligned = self.by_file or self._sink
        if position < 0 or (aligned and position % self._batch):
            raise MeshwrightError(f"no batch begins at position {position}")

    def locate(self, position: int, row: int) -> tuple[int, int]:
        """(file, sample) of a row of the batch at a position."""
        if self._sink:
            position %= self._sink * self._batch
        if self.by_file:
            return self._in_file(position // self._batch, row)
        epoch, index = divmod(position + row, self._ends[-1])
        if self._seed is not None:
            index = permuted(index, self._ends[-1], derive_key(self._seed, epoch))
        file = bisect_right(self._ends, index)
        return file, index - (self._ends[file - 1] if file else 0)

    def _in_file(self, step: int, row: int) -> tuple[int, int]:
        files = len(self._counts)
        rows, turns = max(1, self._batch // files), max(1, files // self._batch)
        group, offset = divmod(row, rows)
        round_, turn = divmod(step, turns)
        file = group * turns + turn
        epoch, index = divmod(round_ * rows + offset, self._counts[file])
        if self._seed is not None:
            key = derive_key(derive_key(self._seed, epoch), file)
            index = permuted(index, self._counts[file], key)
        return file, index
