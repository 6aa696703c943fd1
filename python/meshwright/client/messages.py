"""What clients and coordinators say to each other: the messages of service.proto.

Written and read by `meshwright.wire`, so that no version of protobuf is asked for.
"""

import functools
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from meshwright.client.host_arrays import (
    Converted,
    array_like,
    bytes_of,
    dtype_of,
    type_name,
)
from meshwright.client.loans import Loans
from meshwright.client.shared_memory import Region
from meshwright.wire import BYTES, FIXED64, Message, encode_varint

PART_BYTES = 2 << 20
# Upload.What.
MODULE, CLUSTER, OPTIONS, PLAN, BESIDE = 1, 2, 3, 4, 5
# InitPart.Begin.From.
FROM_TENSORS, FROM_MODULE = 1, 3


@dataclass(frozen=True)
class StepDone:
    """`loss` is None for a step without one."""

    step: int
    seconds: float
    loss: float | None


def upload(what: int, data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), PART_BYTES):
        yield _message((1, what), (2, data[start : start + PART_BYTES]))


def init_parts(
    job: int,
    module: bytes | None,
    tensors: Iterable[tuple[str, object]],
    loans: Loans,
) -> Iterator[bytes]:
    """Without a module, the tensors are the state's values."""
    source = FROM_TENSORS if module is None else FROM_MODULE
    yield _message((1, _message((1, job), (2, source))))
    for start in range(0, len(module or b""), PART_BYTES):
        yield _message((2, module[start : start + PART_BYTES]))
    for part in tensor_parts(tensors, loans):
        yield _wrapped((3, part))


def step_begin(
    job: int,
    count: int,
    fetch: tuple[str, ...],
    into: Sequence[Region | None],
    batch: int = 0,
) -> bytes:
    begin = _begin(job, count, fetch)
    if batch:
        begin += _message((5, batch))
    return begin + _message(*((4, _region(one)) for one in into)) if into else begin


def step_parts(begin: bytes, parts: Iterable["Part"]) -> Iterator[bytes]:
    yield _message((1, begin))
    for part in parts:
        yield _wrapped((2, part))


def stage_parts(
    job: int, batch: int, tensors: Iterable[tuple[str, object]], loans: Loans
) -> Iterator[bytes]:
    yield _message((1, _message((1, job), (2, batch))))
    for part in tensor_parts(tensors, loans):
        yield _wrapped((2, part))


def step_request(begin: bytes, parts: Iterable["Part"]) -> bytes:
    """All in one message: tensors of one part each."""
    return _message((1, begin)) + _wrapped(*((2, part) for part in parts))


def read_steps(reply: bytes) -> tuple[list[StepDone], list[bytes]]:
    """The steps that are done, and the parts of tensors."""
    message = Message.parse(memoryview(reply))
    return [read_step(step) for step in message.all(1)], message.all(2)


def feed_request(job: int, dataset: str, position: int) -> bytes:
    return _message((1, job), (2, dataset), (3, position))


def fetch_request(
    job: int, names: Iterable[str], into: Sequence[Region | None]
) -> bytes:
    regions = ((3, _region(one)) for one in into)
    return _message((1, job), *((2, name) for name in names), *regions)


def move_request(
    source: int, target: int, pairs: Sequence[tuple[str, str]], drop: bool
) -> bytes:
    taken = ((3, name) for name, _ in pairs)
    given = ((4, name) for _, name in pairs)
    return _message((1, source), (2, target), *taken, *given, (5, int(drop)))


def save_request(
    job: int, directory: str, step: int, keep: int, extra: bytes, in_background: bool
) -> bytes:
    return _message(
        (1, job), (2, directory), (3, step), (4, keep), (5, extra),
        (6, int(in_background)),
    )  # fmt: skip


def restore_request(job: int, directory: str) -> bytes:
    return _message((1, job), (2, directory))


def job_request(job: int) -> bytes:
    return _message((1, job))


def read_job(reply: bytes) -> int:
    return Message.parse(reply).first(1, 0)


def read_bytes(reply: bytes) -> bytes:
    """Of a message that has nothing else."""
    return Message.parse(reply).first(1, b"")


def read_memory_socket(reply: bytes) -> str:
    """Of a status."""
    return Message.parse(reply).first(2, b"").decode()


def read_step(reply: bytes) -> "StepDone | bytes":
    """A step that is done, or part of a tensor."""
    message = Message.parse(memoryview(reply))
    part = message.first(5)
    if part is not None:
        return part
    loss = _double(message, 4) if message.first(3, 0) else None
    return StepDone(message.first(1, 0), _double(message, 2), loss)


class TensorReader:
    """Puts the parts of tensors together, each byte copied once. What lies in shared
    memory stays there."""

    def __init__(self, done: Callable[[str, object], None], loans: Loans):
        self._done, self._loans = done, loans
        self._name = ""
        self._array = self._bytes = None

    def add(self, part: bytes) -> None:
        message = Message.parse(memoryview(part))
        if message.first(7) is not None:
            name, dtype = message.text(1), dtype_of(message.text(2))
            self._done(name, self._loans.array(name, dtype, message.integers(3)))
            return
        offset, data = message.first(4, 0), message.first(5, b"")
        if offset == 0:
            self._name = message.text(1)
            self._array = array_like(message.text(2), message.integers(3))
            self._bytes = bytes_of(self._array)
        self._bytes[offset : offset + len(data)] = data
        if message.first(6, 0):
            self._done(self._name, self._array)


@dataclass(frozen=True)
class Part:
    """A message of these bytes; those of arrays are where they were."""

    pieces: tuple

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


def tensor_parts(tensors: Iterable[tuple[str, object]], loans: Loans) -> Iterator[Part]:
    """Of arrays of any order and of NumPy's types: each byte is copied once, to shared
    memory or into messages."""
    import numpy as np

    for name, array in tensors:
        dtype = array.dtype
        if isinstance(array, Converted):
            array = array.source
        region = loans.take(array.size * dtype.itemsize)
        if region is not None:
            np.copyto(region.array(dtype, array.shape), array, casting="unsafe")
            place = _message((6, 1), (7, _region(region)))
            yield Part((_head(name, dtype, array.shape) + place,))
            continue
        array = np.asarray(array, dtype, order="C")
        data = bytes_of(array)
        for start in range(0, max(len(data), 1), PART_BYTES):
            part = data[start : start + PART_BYTES]
            last = start + len(part) == len(data)
            head = _head(name, dtype, array.shape) if start == 0 else _name(name)
            head += _message((4, start), (6, int(last))) + _key(5, len(part))
            yield Part((head, part))


# Steps are alike, and so is what says what their tensors are.


@functools.lru_cache
def _begin(job: int, count: int, fetch: tuple[str, ...]) -> bytes:
    return _message((1, job), (2, count), *((3, name) for name in fetch))


@functools.lru_cache(maxsize=4096)
def _name(name: str) -> bytes:
    return _message((1, name))


@functools.lru_cache(maxsize=4096)
def _head(name: str, dtype, shape: tuple[int, ...]) -> bytes:
    dimensions = ((3, size) for size in shape)
    return _message((1, name), (2, type_name(dtype)), *dimensions)


def _wrapped(*parts: tuple[int, Part]) -> bytes:
    """A message whose fields, by number, are messages."""
    pieces = []
    for number, part in parts:
        pieces += [_key(number, len(part)), *part.pieces]
    return b"".join(pieces)


def _key(number: int, size: int) -> bytes:
    """What comes before so many bytes of a field."""
    return encode_varint(number << 3 | BYTES) + encode_varint(size)


def _region(region: Region | None) -> bytes:
    return b"" if region is None else _message((1, region.offset), (2, region.size))


def _message(*fields: tuple) -> bytes:
    message = Message()
    for number, value in fields:
        message.add(number, value)
    return message.serialize()


def _double(message: Message, number: int) -> float:
    found = [v for n, kind, v in message.fields if n == number and kind == FIXED64]
    return struct.unpack("<d", found[0])[0] if found else 0.0
