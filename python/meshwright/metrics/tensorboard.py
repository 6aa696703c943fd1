"""Writes event files of TensorBoard, which are framed records of protobuf messages
(TFRecord), without TensorFlow or TensorBoard."""

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.metrics.sink import FileSink, Record
from meshwright.wire import FIXED32, FIXED64, Message

# Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value, with 1 tag
# and 2 simple_value.
_VERSION = "brain.Event:2"


class TensorBoard(FileSink):
    """An event file per run, in a folder: `tensorboard --logdir FOLDER`."""

    _count = 0

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MeshwrightError(f"{folder}: {error.strerror}") from error
        if not os.access(self.folder, os.W_OK):
            raise MeshwrightError(f"{folder}: files cannot be made in it")

    def __repr__(self) -> str:
        return f"TensorBoard({str(self.folder)!r})"

    def write(self, record: Record) -> None:
        if self._file is None:
            self._file = self._open()
        values = {
            name: value
            for name, value in record.items()
            if value is not None and name not in ("step", "time")
        }
        event = _event(record["time"], record["step"])
        event.add(5, _summary(values))
        self._file.write(framed(event.serialize()))

    def _open(self):
        now, number = time.time(), TensorBoard._count
        TensorBoard._count += 1
        name = f"{int(now):010}.{socket.gethostname()}.{os.getpid()}.{number}"
        file = (self.folder / f"events.out.tfevents.{name}").open("xb")
        event = _event(now)
        event.add(3, _VERSION)
        file.write(framed(event.serialize()))
        return file


def framed(data: bytes) -> bytes:
    """A record as in the file: with its length, and checksums of both."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _event(seconds: float, step: int | None = None) -> Message:
    event = Message([(1, FIXED64, struct.pack("<d", seconds))])
    if step is not None:
        event.add(2, step)
    return event


def _summary(values: Mapping[str, float]) -> Message:
    summary = Message()
    for name, number in values.items():
        value = Message()
        value.add(1, name)
        value.fields.append((2, FIXED32, _float(number)))
        summary.add(1, value)
    return summary


def _float(number: float) -> bytes:
    try:
        return struct.pack("<f", number)
    except OverflowError:
        return struct.pack("<f", float("inf") if number > 0 else float("-inf"))


def _table() -> list[int]:
    """The table for a bytewise CRC-32C."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c(data)
    rotated = crc >> 15 | crc << 17
    return struct.pack("<I", rotated + 0xA282EAD8 & 0xFFFFFFFF)
