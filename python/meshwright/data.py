"""Datasets, which workers read from a description, or Python as batches of numpy
arrays.

    data = meshwright.data.tokens("train-*.bin", sequence=128, batch=32, shuffle=7)
    data.save("train.json", {"batch/tokens": "inputs", "batch/targets": "targets"})
    batch = next(data)                # {"inputs": [32, 128], "targets": [32, 128]}
    data.position                     # 32: samples consumed, all there is to resume

`meshwright run STEP --data train.json` gives the steps the same batches in the same
order, for any number of devices, workers and micro-batches (docs/formats.md).
"""

import glob
import json
import os
from collections import OrderedDict
from functools import cached_property
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.files import write_bytes
from meshwright.sample_order import SampleOrder

# Files of arrays that are kept in memory at the same time.
_MOST_OPEN = 16
_TOKEN_TYPES = ("uint8", "uint16", "uint32")


def tokens(
    files,
    *,
    sequence: int,
    batch: int,
    dtype: str = "uint16",
    shuffle: int | None = None,
    shard_by: str = "auto",
    sink: int = 0,
    vocabulary: int | None = None,
) -> "Dataset":
    """Flat files of token ids (.bin, .npy), divided into samples of `sequence` tokens.

    Batches have `inputs`, and `targets` that are shifted by one token. `files` is a
    path or pattern, or a list of them. `shuffle` is a seed; every epoch has its own
    order.
    """
    if dtype not in _TOKEN_TYPES:
        raise MeshwrightError(f"dtype {dtype!r} is none of {', '.join(_TOKEN_TYPES)}")
    if sequence < 1:
        raise MeshwrightError(f"sequence {sequence} is less than 1")
    spec = {"kind": "tokens", "dtype": dtype, "sequence": sequence}
    if vocabulary is not None:
        spec["vocabulary"] = vocabulary
    return Dataset(
        spec,
        _TokenFiles(_paths(files), dtype, sequence),
        files,
        batch,
        shuffle,
        shard_by,
        sink,
    )


def npz(
    files,
    *,
    batch: int,
    shuffle: int | None = None,
    shard_by: str = "auto",
    sink: int = 0,
) -> "Dataset":
    """Files of arrays (.npz, .npy, .safetensors) whose first dimension is the sample.

    Batches have one array for each array of a file, by name; the name for an .npy file
    is "".
    """
    return Dataset(
        {"kind": "npz"},
        _ArrayFiles(_paths(files)),
        files,
        batch,
        shuffle,
        shard_by,
        sink,
    )


class Dataset:
    """An endless iterator over batches, starting at `position`; made by `tokens` and
    `npz`."""

    def __init__(self, spec, samples, files, batch, shuffle, shard_by, sink):
        if batch < 1:
            raise MeshwrightError(f"a batch of {batch} has no rows")
        patterns = [files] if isinstance(files, (str, Path)) else list(files)
        self._spec = {
            **spec,
            "files": [str(Path(file).absolute()) for file in patterns],
            "shard_by": shard_by,
        }
        if shuffle is not None:
            self._spec["shuffle"] = shuffle
        if sink:
            self._spec["sink"] = sink
        self._samples = samples
        self._order = SampleOrder(samples.counts(), batch, shuffle, shard_by, sink)
        self._batch = batch
        self._position = 0

    @property
    def batch(self) -> int:
        """Samples in a batch."""
        return self._batch

    @property
    def position(self) -> int:
        """Samples consumed."""
        return self._position

    def __len__(self) -> int:
        """Whole batches in an epoch."""
        return sum(self._samples.counts()) // self._batch

    def __iter__(self):
        return self

    def __next__(self) -> dict:
        batch = self.peek()
        self._position += self._batch
        return batch

    @cached_property
    def shapes(self) -> dict:
        """Arrays with the shapes and dtypes of a batch; their values mean nothing."""
        return self.peek()

    def peek(self) -> dict:
        """The next batch, without consuming it."""
        rows = [self._order.locate(self._position, row) for row in range(self._batch)]
        return self._samples.read(rows)

    def seek(self, position: int) -> "Dataset":
        """Continues from a position, such as that of another dataset object."""
        self._order.check(position)
        self._position = int(position)
        return self

    def state(self) -> dict:
        """What a checkpoint stores for it."""
        return {"position": self._position}

    def spec(self, parameters: dict) -> dict:
        """The dataset as JSON; `parameters` maps each parameter of a step to its
        field."""
        return {**self._spec, "parameters": dict(parameters)}

    def save(self, path: str | Path, parameters: dict) -> None:
        """Writes `spec` to a file for `meshwright run --data`."""
        text = json.dumps(self.spec(parameters), indent=1) + "\n"
        write_bytes(path, text.encode())


def write_tokens(path: str | Path, ids, dtype: str = "uint16") -> int:
    """Writes token ids as a flat file; returns their number."""
    import numpy as np

    if dtype not in _TOKEN_TYPES:
        raise MeshwrightError(f"dtype {dtype!r} is none of {', '.join(_TOKEN_TYPES)}")
    ids = np.asarray(ids)
    if ids.size and (ids.min() < 0 or ids.max() > np.iinfo(dtype).max):
        raise MeshwrightError(f"{path}: ids up to {ids.max()} do not fit {dtype}")
    write_bytes(path, ids.astype(f"<u{np.dtype(dtype).itemsize}").tobytes())
    return int(ids.size)


def write_text(path: str | Path, text: str, dtype: str = "uint8") -> int:
    """Writes a text as tokens, one for each byte of its UTF-8; returns their number."""
    import numpy as np

    return write_tokens(path, np.frombuffer(text.encode(), np.uint8), dtype)


def _paths(files) -> list[str]:
    """The files that match the patterns; those of each pattern sorted by name."""
    found = []
    for file in [files] if isinstance(files, (str, Path)) else files:
        name = str(file)
        if not any(c in name for c in "*?[") or os.path.exists(name):
            found.append(name)
            continue
        matches = sorted(map(os.fsencode, glob.glob(name)))
        if not matches:
            raise MeshwrightError(f"no file matches {name!r}")
        found.extend(map(os.fsdecode, matches))
    if not found:
        raise MeshwrightError("a dataset of no files")
    for name in found:
        if not os.path.isfile(name):
            raise MeshwrightError(f"{name}: there is no such file")
    return found


class _TokenFiles:
    """Samples of flat files of tokens."""

    def __init__(self, paths, dtype, sequence):
        import numpy as np

        self._sequence = sequence
        self._tokens = []
        width = np.dtype(dtype).itemsize
        for path in paths:
            with open(path, "rb") as file:
                is_array = file.read(6) == b"\x93NUMPY"
            if is_array:
                ids = np.load(path, mmap_mode="r")
                if ids.dtype != dtype or ids.ndim != 1:
                    raise MeshwrightError(f"{path}: is not a flat array of {dtype}")
            elif os.path.getsize(path) % width:
                raise MeshwrightError(f"{path}: its size is no multiple of {width}")
            elif os.path.getsize(path):
                ids = np.memmap(path, f"<u{width}", mode="r")
            else:
                ids = np.zeros(0, dtype)
            if len(ids) <= sequence:
                raise MeshwrightError(f"{path}: is shorter than one sample")
            self._tokens.append(ids)

    def counts(self):
        return [(len(ids) - 1) // self._sequence for ids in self._tokens]

    def read(self, rows):
        import numpy as np

        length = self._sequence
        cut = np.stack(
            [
                self._tokens[file][sample * length : sample * length + length + 1]
                for file, sample in rows
            ]
        )
        if cut.max() > np.iinfo(np.int32).max:
            raise MeshwrightError(f"token {cut.max()} does not fit int32")
        cut = cut.astype(np.int32)
        return {"inputs": cut[:, :-1], "targets": cut[:, 1:], "tokens": cut}


class _ArrayFiles:
    """Samples of files of arrays."""

    def __init__(self, paths):
        self._paths = paths
        self._loaded = OrderedDict()
        self._counts = []
        for file, path in enumerate(paths):
            counts = {len(array) for array in self._arrays(file).values()}
            if len(counts) != 1 or 0 in counts:
                raise MeshwrightError(f"{path}: its arrays have no samples in common")
            self._counts += counts

    def counts(self):
        return self._counts

    def read(self, rows):
        import numpy as np

        names = self._arrays(rows[0][0])
        return {
            name: np.stack([self._arrays(file)[name][sample] for file, sample in rows])
            for name in names
        }

    def _arrays(self, file):
        import numpy as np

        if file in self._loaded:
            self._loaded.move_to_end(file)
            return self._loaded[file]
        path = self._paths[file]
        if path.endswith(".safetensors"):
            from safetensors.numpy import load_file

            arrays = load_file(path)
        else:
            loaded = np.load(path)
            arrays = dict(loaded) if hasattr(loaded, "files") else {"": loaded}
        self._loaded[file] = arrays
        if len(self._loaded) > _MOST_OPEN:
            self._loaded.popitem(last=False)
        return arrays
