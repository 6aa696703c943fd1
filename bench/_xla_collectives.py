"""The collectives of a compiled HLO module, read from its text.

    for c in collectives(compiled.as_text()):
        c.kind, c.devices, c.bytes, c.count     # "all-reduce", 8, 16384, 2
    sum(c.count * c.wire_bytes for c in ...)    # Sent by a device in a step.

Collectives inside loops count as often as the loop runs.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "ragged-all-to-all",
    "collective-broadcast",
)
_BITS = {"pred": 8, "bf16": 16, "c64": 64, "c128": 128, "token": 0}


@dataclass(frozen=True)
class Collective:
    kind: str
    devices: int  # In a group.
    bytes: int  # Of the operands on one device, each time.
    count: int  # Times per step.
    name: str
    source: str  # The operation in the model that it is for.
    sliced: bool = False  # Only parts of the result are used, by each device its own.

    @property
    def wire_bytes(self) -> float:
        """Sent by a device, each time."""
        return wire_bytes(self.kind, self.devices, self.bytes)


def wire_bytes(kind: str, devices: int, size: int) -> float:
    """Sent by each of `devices` devices that hold `size` bytes before."""
    if devices == 1:
        return 0
    share = (devices - 1) / devices
    factors = {"all-reduce": 2 * share, "all-gather": devices - 1}
    factors |= {"reduce-scatter": share, "all-to-all": share, "collective-permute": 1}
    return factors[kind] * size


@dataclass
class _Instruction:
    name: str
    shape: str
    opcode: str
    arguments: str  # `%a, %b`; of a parameter its number.
    operands: list[str]
    attributes: str


@dataclass
class _Computation:
    name: str
    instructions: dict[str, _Instruction] = field(default_factory=dict)

    def users(self, name: str) -> list[_Instruction]:
        return [i for i in self.instructions.values() if name in i.operands]


def collectives(text: str) -> list[Collective]:
    """One for each tensor, also where one instruction moves several."""
    devices = _device_count(text)
    computations, entry = _parse(text)
    return [
        collective
        for name, count in _run_counts(computations, entry).items()
        for i in computations[name].instructions.values()
        if i.opcode.removesuffix("-start") in _KINDS
        for collective in _by_tensor(
            i, computations[name], computations, count, devices
        )
    ]


def _by_tensor(i, where, computations, count, devices) -> Iterator[Collective]:
    kind = i.opcode.removesuffix("-start")
    for number, operand in enumerate(i.operands):
        sliced = kind == "all-reduce" and _is_sliced(i, number, where, computations)
        yield Collective(
            kind=kind,
            devices=_group_size(i.attributes, devices),
            bytes=_bytes(where.instructions[operand].shape),
            count=count,
            name=i.name,
            source=_source(i.attributes),
            sliced=sliced,
        )


def _device_count(text: str) -> int:
    header = text.partition("\n")[0]
    counts = re.findall(r"(?:num_partitions|replica_count)=(\d+)", header)
    return math.prod(map(int, counts))


def _parse(text: str) -> tuple[dict[str, _Computation], str]:
    """Computations by name, and the name of the entry."""
    computations, entry, current = {}, "", None
    for line in text.splitlines():
        if match := re.match(r"(ENTRY )?%?([^\s(]+) \(.*\{$", line):
            current = _Computation(match[2])
            computations[match[2]] = current
            entry = match[2] if match[1] else entry
        elif match := re.match(r"\s+(?:ROOT )?%?(\S+) = (.*)$", line):
            current.instructions[match[1]] = _instruction(match[1], match[2])
    return computations, entry


def _instruction(name: str, text: str) -> _Instruction:
    """Of `f32[2]{0} add(%a, %b), metadata={...}`."""
    end = _closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
    shape, rest = text[:end], text[end:].lstrip()
    opening = rest.index("(")
    closing = _closing(rest, opening)
    arguments = rest[opening + 1 : closing]
    operands = re.findall(r"%([^\s,()]+)", arguments)
    attributes = rest[closing + 1 :]
    return _Instruction(name, shape, rest[:opening], arguments, operands, attributes)


def _closing(text: str, opening: int) -> int:
    depth = 0
    for index in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    raise ValueError(f"unbalanced: {text}")


def _run_counts(computations: dict[str, _Computation], entry: str) -> dict[str, int]:
    """How often each computation runs in a step; those that never do are absent."""
    counts = dict.fromkeys(computations, 0)
    counts[entry] = 1
    # A computation is printed before those that call it.
    for name in reversed(computations):
        for i in computations[name].instructions.values():
            times = counts[name] * _trip_count(i)
            for callee in _callees(i):
                counts[callee] += times
    return {name: count for name, count in counts.items() if count}


def _callees(i: _Instruction) -> list[str]:
    single = re.findall(
        r"(?:to_apply|calls|body|condition|called_computation)=%?([^\s,}]+)",
        i.attributes,
    )
    lists = re.findall(r"branch_computations=\{([^}]*)\}", i.attributes)
    return single + [name.strip().lstrip("%") for x in lists for name in x.split(",")]


def _trip_count(i: _Instruction) -> int:
    if i.opcode != "while":
        return 1
    match = re.search(r'known_trip_count":\{"n":"(\d+)"', i.attributes)
    if match is None:
        raise ValueError(f"no one knows how often {i.name} runs")
    return int(match[1])


def _group_size(attributes: str, devices: int) -> int:
    """Of replica groups in any of these forms:

    {{0,1},{2,3},{4,5},{6,7}}    [4,2]<=[8]    mesh['x'=4,'y'=2] {'y'}
    """
    if "source_target_pairs=" in attributes:
        return 2
    if match := re.search(r"replica_groups=\[([\d,]+)\]<=", attributes):
        return int(match[1].split(",")[-1])
    if match := re.search(r"replica_groups=\{\{([\d,]*)\}", attributes):
        return len(match[1].split(","))
    if match := re.search(
        r"replica_groups=mesh\[([^\]]*)\][^{]*\{([^}]*)\}", attributes
    ):
        sizes = {
            name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", match[1])
        }
        # A part of an axis is 'x':(2)4, of size 4.
        axes = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", match[2])
        return math.prod(int(part or sizes[name]) for name, part in axes)
    return devices


def _bytes(shape: str) -> int:
    total = 0
    for dtype, dims in re.findall(r"([a-z]+\d*\w*)\[([\d,]*)\]", shape):
        bits = _BITS.get(dtype) or int(re.search(r"\d+", dtype)[0])
        total += math.prod(int(d) for d in dims.split(",") if d) * bits // 8
    return total


def _source(attributes: str) -> str:
    match = re.search(r'op_name="([^"]*)"', attributes)
    return match[1] if match else ""


def _is_sliced(i: _Instruction, number: int, where: _Computation, computations) -> bool:
    """Whether all that is done with a result is to slice it.

    Other backends of XLA turn such an all-reduce into a reduce-scatter.
    """
    names = [i.name]
    if len(i.operands) > 1:
        names = [
            user.name
            for user in where.users(i.name)
            if user.attributes.startswith(f", index={number}")
        ]
    users = [user for name in names for user in _uses(name, where, computations)]
    return bool(users) and all(user.opcode == "dynamic-slice" for user in users)


def _uses(name: str, where: _Computation, computations) -> list[_Instruction]:
    """Users, looking into fusions and calls and through copies."""
    found = []
    for user in where.users(name):
        if user.opcode in ("fusion", "call"):
            inner = computations[_callees(user)[0]]
            for position, operand in enumerate(user.operands):
                if operand == name:
                    found += _uses(_parameter(inner, position), inner, computations)
        elif user.opcode in ("copy", "bitcast"):
            found += _uses(user.name, where, computations)
        else:
            found.append(user)
    return found


def _parameter(computation: _Computation, number: int) -> str:
    return next(
        i.name
        for i in computation.instructions.values()
        if i.opcode == "parameter" and i.arguments == str(number)
    )
