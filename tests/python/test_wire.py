"""The wire format: what is read is what was written, and nothing is lost."""

import contextlib
import random

import pytest

from meshwright.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Message,
    WireError,
    decode_varint,
    encode_varint,
    pack,
    string_map,
    unpack,
    with_strings,
)

pytestmark = pytest.mark.one_jax

SEEDS = range(50)
VARINTS = {
    0: "00",
    1: "01",
    127: "7f",
    128: "8001",
    300: "ac02",
    2**63: "80808080808080808001",
    -1: "ffffffffffffffffff01",
}


def random_message(rng: random.Random) -> Message:
    message = Message()
    for _ in range(rng.randrange(12)):
        number = rng.choice([1, 2, 15, 16, 99, 2**28])
        kind = rng.choice([VARINT, FIXED64, BYTES, FIXED32])
        if kind == VARINT:
            value = rng.getrandbits(rng.choice([1, 7, 8, 32, 64]))
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(kind, rng.choice([0, 3, 200]))
            value = rng.randbytes(size)
        message.fields.append((number, kind, value))
    return message


@pytest.mark.parametrize(("value", "encoded"), VARINTS.items())
def test_varints_are_protobufs(value, encoded):
    assert encode_varint(value).hex() == encoded
    decoded, end = decode_varint(bytes.fromhex(encoded), 0)
    assert (decoded, end) == (value % 2**64, len(encoded) // 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_message_survives_a_round_trip(seed):
    message = random_message(random.Random(seed))
    data = message.serialize()
    assert Message.parse(data) == message
    assert Message.parse(data).serialize() == data


@pytest.mark.parametrize("seed", SEEDS)
def test_setting_a_field_leaves_all_others_alone(seed):
    message = random_message(random.Random(seed))
    others = [entry for entry in message.fields if entry[0] != 2]
    message.set(2, b"new")
    assert message.all(2) == [b"new"]
    assert [entry for entry in message.fields if entry[0] != 2] == others


@pytest.mark.parametrize("seed", SEEDS)
def test_truncated_bytes_parse_or_are_refused(seed):
    data = random_message(random.Random(seed)).serialize()
    for end in range(len(data)):
        try:
            parsed = Message.parse(data[:end])
        except WireError:
            continue
        assert parsed.serialize() == data[:end]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bytes_never_raise_anything_else(seed):
    data = random.Random(seed).randbytes(64)
    with contextlib.suppress(WireError):
        Message.parse(data)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\x80", "truncated varint"),
        (b"\xff" * 11, "more than 10 bytes"),
        (b"\x0a\x05ab", "truncated"),
        (b"\x0b", "wire type 3"),
        (b"\x00\x01", "field number 0"),
    ],
)
def test_errors_say_what_is_wrong(data, complaint):
    with pytest.raises(WireError, match=complaint):
        Message.parse(data)


def test_repeated_integers_are_read_packed_or_not():
    message = Message()
    message.add(3, pack([1, 300]))
    message.add(3, 7)
    assert message.integers(3) == [1, 300, 7]
    assert unpack(pack([0, 2**40])) == [0, 2**40]


def test_string_maps_are_merged_in_key_order():
    first = with_strings(Message(), {"b": "2", "a": "1"})
    second = with_strings(first, {"a": "3", "ü": "ß"})
    assert string_map(second) == {"a": "3", "b": "2", "ü": "ß"}
    assert second.serialize() == with_strings(second, {}).serialize()
