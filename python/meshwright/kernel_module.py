"""An HloModuleProto to which the bodies of its kernels can be added. Field numbers are
XLA's.

    module = KernelModule(hlo)
    name = module.add("norm", body)        # A module's entry, as a computation.
    module.set_kernel("12", "norm", "b n, n -> b n", [name])
    hlo = module.serialize()
"""

import re

from meshwright.wire import Message, pack, string_map, with_strings

KERNEL, RULE, VARIANTS = "mw.kernel", "mw.rule", "mw.variants"
FLOPS, VARIANT_LIMIT = "mw.flops", "mw.variant_limit"
TRANSPARENT = "mw.transparent"

# HloModuleProto.
_COMPUTATIONS, _ENTRY_ID = 3, 6
# HloComputationProto.
_NAME, _INSTRUCTIONS, _COMPUTATION_ID, _ROOT_ID = 1, 2, 5, 6
# HloInstructionProto.
_OPCODE = 2
_METADATA, _ID, _OPERANDS, _BEFORE, _CALLED, _ATTRIBUTES = 7, 35, 36, 37, 38, 68
_IS_COMPOSITE = 89
# OpMetadata: an index into a table of its module.
_STACK_FRAME = 15

# How jax.lax.composite appears; its contents are in our own attributes.
_COMPOSITE = "composite."
_DETAILS = "composite.attributes"
_NUMBER = re.compile(r'number = "(\d+)"')


class KernelModule:
    """Computations that are not reachable from the entry are dropped."""

    def __init__(self, hlo: bytes):
        self._module = Message.parse(hlo)
        self._computations = _reachable(
            _computations(self._module), self._module.first(_ENTRY_ID, 0)
        )
        self._module.remove(_COMPUTATIONS)
        self._variants = 0
        self._calls = {}  # By number: the calls, as computation and position.
        for key, computation in self._computations.items():
            for position, (field, _, value) in enumerate(computation.fields):
                if field == _INSTRUCTIONS and _DETAILS.encode() in value:
                    attributes = Message.parse(value).child(_ATTRIBUTES)
                    found = _NUMBER.search(string_map(attributes).get(_DETAILS, ""))
                    if found:
                        self._calls.setdefault(found[1], []).append((key, position))

    def numbers(self) -> list[str]:
        """The numbers of the kernels that are called, in order."""
        return list(self._calls)

    def has_custom_calls(self, number: str) -> bool:
        """Whether the kernel's body has any."""
        key, position = self._calls[number][0]
        _, _, call = self._computations[key].fields[position]
        (body,) = Message.parse(call).integers(_CALLED)
        return any(
            Message.parse(value).text(_OPCODE) == "custom-call"
            for computation in _reachable(self._computations, body).values()
            for value in computation.all(_INSTRUCTIONS)
        )

    def set_kernel(
        self,
        number: str,
        name: str,
        rule: str,
        variants: list[str],
        more: dict[str, str] | None = None,
    ) -> None:
        """`more`: further attributes."""
        for key, position in self._calls[number]:
            fields = self._computations[key].fields
            field, kind, value = fields[position]
            call = Message.parse(value)
            attributes = string_map(call.child(_ATTRIBUTES))
            kept = {k: v for k, v in attributes.items() if not k.startswith(_COMPOSITE)}
            kept |= {KERNEL: name, RULE: rule, VARIANTS: ",".join(variants)}
            kept |= more or {}
            call.set(_ATTRIBUTES, with_strings(Message(), kept))
            call.remove(_IS_COMPOSITE)
            fields[position] = (field, kind, call.serialize())

    def add(self, name: str, hlo: bytes) -> str:
        """Adds the entry of another module as a computation; returns its name."""
        self._variants += 1
        other = Message.parse(hlo)
        computations = _reachable(_computations(other), other.first(_ENTRY_ID, 0))
        first = max(self._computations) + 1
        keys = {key: first + i for i, key in enumerate(computations)}
        suffix = f".variant.{self._variants}"
        for key, computation in computations.items():
            _renumber(computation, keys, suffix)
            self._computations[keys[key]] = computation
        called = f"{name}{suffix}"
        self._computations[keys[other.first(_ENTRY_ID, 0)]].set(_NAME, called)
        return called

    def serialize(self) -> bytes:
        for computation in self._computations.values():
            self._module.add(_COMPUTATIONS, computation)
        return self._module.serialize()


def _computations(module: Message) -> dict[int, Message]:
    """By id, callees before callers."""
    messages = map(Message.parse, module.all(_COMPUTATIONS))
    return {message.first(_COMPUTATION_ID, 0): message for message in messages}


def _reachable(every: dict[int, Message], start: int) -> dict[int, Message]:
    """Those that this one calls, and itself."""
    reached, open_ids = set(), [start]
    while open_ids:
        key = open_ids.pop()
        if key in reached:
            continue
        reached.add(key)
        for value in every[key].all(_INSTRUCTIONS):
            open_ids += Message.parse(value).integers(_CALLED)
    return {key: every[key] for key in every if key in reached}


def _renumber(computation: Message, keys: dict[int, int], suffix: str) -> None:
    """Gives the computation and its instructions ids and names that are unused in the
    new module."""
    old = computation.first(_COMPUTATION_ID, 0)
    instructions = [Message.parse(v) for v in computation.all(_INSTRUCTIONS)]
    # The upper half of an instruction's id is the id of its computation.
    numbers = {
        instruction.first(_ID, 0): (keys[old] << 32) + i + 1
        for i, instruction in enumerate(instructions)
    }
    for instruction in instructions:
        instruction.set(_NAME, instruction.text(_NAME) + suffix)
        instruction.set(_ID, numbers[instruction.first(_ID, 0)])
        for field, table in (
            (_OPERANDS, numbers),
            (_BEFORE, numbers),
            (_CALLED, keys),
        ):
            if values := instruction.integers(field):
                instruction.set(field, pack(table[value] for value in values))
        if metadata := instruction.child(_METADATA).fields:
            kept = [entry for entry in metadata if entry[0] != _STACK_FRAME]
            instruction.set(_METADATA, Message(kept))
    values = iter(instructions)
    computation.fields = [
        (n, kind, next(values).serialize() if n == _INSTRUCTIONS else value)
        for n, kind, value in computation.fields
    ]
    computation.set(_NAME, computation.text(_NAME) + suffix)
    computation.set(_COMPUTATION_ID, keys[old])
    computation.set(_ROOT_ID, numbers[computation.first(_ROOT_ID, 0)])
