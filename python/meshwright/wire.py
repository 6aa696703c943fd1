"""Protobuf wire format: read a message, change some fields, write it back.

A message is an ordered list of fields. Fields that are not accessed are preserved, so
an edited module of any version of XLA keeps everything else.

    >>> message = Message.parse(bytes.fromhex("08960112027365"))
    >>> message.first(1), message.first(2)
    (150, b'se')
    >>> message.set(1, 7)
    >>> message.serialize().hex()
    '080712027365'
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_SIZE = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES = 10
_SMALL = [bytes([value]) for value in range(0x80)]  # Most varints are that small.


class WireError(ValueError):
    """The bytes are not a protobuf message."""


def encode_varint(value: int) -> bytes:
    """Negative values take ten bytes, as protobuf's int64 does."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes, start: int) -> tuple[int, int]:
    """Returns the unsigned value and the position after it."""
    if start < len(data) and data[start] < 0x80:
        return data[start], start + 1
    value = 0
    for i in range(_MAX_VARINT_BYTES):
        if start + i >= len(data):
            raise WireError(f"truncated varint at byte {start}")
        byte = data[start + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value & (1 << 64) - 1, start + i + 1
    raise WireError(f"varint of more than {_MAX_VARINT_BYTES} bytes at byte {start}")


def pack(values: Iterable[int]) -> bytes:
    """The payload of a packed repeated integer field."""
    return b"".join(map(encode_varint, values))


def unpack(payload: bytes) -> list[int]:
    """Inverse of `pack`."""
    values, position = [], 0
    while position < len(payload):
        value, position = decode_varint(payload, position)
        values.append(value)
    return values


def scan(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yields (number, wire type, value) of each field, in order.

    A value is an int for varints and bytes for everything else.
    """
    position = 0
    while position < len(data):
        start = position
        key, position = decode_varint(data, position)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError(f"field number 0 at byte {start}")
        if kind == VARINT:
            value, position = decode_varint(data, position)
        else:
            if kind == BYTES:
                size, position = decode_varint(data, position)
            elif kind in _FIXED_SIZE:
                size = _FIXED_SIZE[kind]
            else:
                raise WireError(f"wire type {kind} at byte {start}")
            if position + size > len(data):
                raise WireError(f"field {number} at byte {start} is truncated")
            value = data[position : position + size]
            position += size
        yield number, kind, value


@dataclass
class Message:
    """One message; nested messages remain bytes until they are parsed themselves."""

    fields: list[tuple[int, int, int | bytes]] = field(default_factory=list)

    @classmethod
    def parse(cls, data: bytes | memoryview) -> "Message":
        """Of a memoryview, bytes remain where they are, as such views."""
        return cls(list(scan(data)))

    def serialize(self) -> bytes:
        out = []
        for number, kind, value in self.fields:
            out.append(encode_varint(number << 3 | kind))
            if kind == VARINT:
                out.append(encode_varint(value))
                continue
            if kind == BYTES:
                out.append(encode_varint(len(value)))
            out.append(value)
        return b"".join(out)

    def all(self, number: int) -> list[int | bytes]:
        return [value for n, _, value in self.fields if n == number]

    def first(self, number: int, default=None):
        return next((value for n, _, value in self.fields if n == number), default)

    def text(self, number: int) -> str:
        return bytes(self.first(number, b"")).decode()

    def child(self, number: int) -> "Message":
        """A copy of a nested message; empty if the field is absent."""
        return Message.parse(self.first(number, b""))

    def integers(self, number: int) -> list[int]:
        """A repeated integer field, packed or not."""
        values = []
        for value in self.all(number):
            values += [value] if isinstance(value, int) else unpack(value)
        return values

    def add(self, number: int, value: "int | bytes | str | Message") -> None:
        if isinstance(value, int):
            self.fields.append((number, VARINT, value))
        else:
            self.fields.append((number, BYTES, _payload(value)))

    def remove(self, number: int) -> None:
        self.fields = [entry for entry in self.fields if entry[0] != number]

    def set(self, number: int, value: "int | bytes | str | Message") -> None:
        """Replaces all occurrences by one, at the position of the first one."""
        positions = [i for i, entry in enumerate(self.fields) if entry[0] == number]
        self.add(number, value)
        if positions:
            self.fields[positions[0]] = self.fields.pop()
            for i in reversed(positions[1:]):
                del self.fields[i]


def _payload(value: "bytes | str | Message") -> bytes:
    if isinstance(value, Message):
        return value.serialize()
    return value.encode() if isinstance(value, str) else value


def string_map(message: Message) -> dict[str, str]:
    """Reads a message whose field 1 is map<string, string>."""
    entries = map(Message.parse, message.all(1))
    return {entry.text(1): entry.text(2) for entry in entries}


def with_strings(message: Message, changes: dict[str, str]) -> Message:
    """The same string map with some keys set; other fields are kept."""
    merged = string_map(message) | changes
    result = Message([entry for entry in message.fields if entry[0] != 1])
    for key in sorted(merged):
        entry = Message()
        entry.add(1, key)
        entry.add(2, merged[key])
        result.add(1, entry)
    return result
