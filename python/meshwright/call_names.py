"""Adds names of calls, which the conversion from StableHLO omits.

jaxlib up to 0.4 gives every HLO instruction except calls the name of the operation that
it was converted from. The instructions of a function that is called several times have
the names of its first call, so that only the names of the calls distinguish the others
(`hlo/call_scope.h`).
"""

import re
from collections.abc import Iterator

from meshwright.wire import Message, WireError

# HloModuleProto, HloComputationProto, HloInstructionProto, OpMetadata.
_COMPUTATIONS, _ENTRY_ID = 3, 6
_INSTRUCTIONS, _COMPUTATION_ID = 2, 5
_OPCODE, _METADATA, _ID, _CALLED = 2, 7, 35, 38
_OP_NAME = 2

_CALL_FIELD = b"\x12\x04call"  # Part of every call.
_KINDS = {"func.call": b"call", "while": b"while", "if": b"conditional"}
_KINDS["case"] = b"conditional"
# In a named location, loc("jit(step)/mul"("step.py":3:4)); not in that of a file.
_NAME = re.compile(r'loc\("((?:[^"\\]|\\.)*)"[()]')


class _Unlike(Exception):
    """The module does not have the structure of the program."""


def name_calls(hlo: bytes, program) -> bytes:
    """The module with names for its calls; it was converted from the MLIR module
    `program()`.

    Returned unchanged if all calls have names, or cannot be told apart.
    """
    if _CALL_FIELD not in hlo:
        return hlo
    module = _Hlo(hlo)
    if not module.has_unnamed_calls():
        return hlo
    try:
        operations = program().body.operations
        functions = {str(op.attributes["sym_name"]).strip('"'): op for op in operations}
        _pair(functions["main"].regions[0], module.entry_id, functions, module)
    except (_Unlike, KeyError, WireError):
        return hlo
    return module.serialize()


class _Hlo:
    """A module's computations by id, with access to the instructions that call
    others."""

    def __init__(self, data: bytes):
        self._module = Message.parse(data)
        self.entry_id = self._module.first(_ENTRY_ID, 0)
        self._computations = {}
        for position, (number, _, value) in enumerate(self._module.fields):
            if number == _COMPUTATIONS:
                message = Message.parse(value)
                key = message.first(_COMPUTATION_ID, 0)
                self._computations[key] = (position, message)

    def holders(self, computation: int) -> list[tuple[int, Message]]:
        """Calls, loops and conditionals in the order of their ids."""
        _, message = self._computations[computation]
        found = []
        for position, (number, _, value) in enumerate(message.fields):
            if number != _INSTRUCTIONS:
                continue
            if not any(kind in value for kind in set(_KINDS.values())):
                continue
            instruction = Message.parse(value)
            if instruction.first(_OPCODE) in _KINDS.values():
                found.append((position, instruction))
        return sorted(found, key=lambda one: one[1].first(_ID, 0))

    def has_unnamed_calls(self) -> bool:
        return any(
            instruction.first(_OPCODE) == b"call"
            and not instruction.child(_METADATA).first(_OP_NAME)
            for computation in self._computations
            for _, instruction in self.holders(computation)
        )

    def set_name(self, computation: int, position: int, name: str) -> None:
        _, message = self._computations[computation]
        number, kind, value = message.fields[position]
        instruction = Message.parse(value)
        metadata = instruction.child(_METADATA)
        metadata.set(_OP_NAME, name)
        instruction.set(_METADATA, metadata)
        message.fields[position] = (number, kind, instruction.serialize())

    def serialize(self) -> bytes:
        for position, message in self._computations.values():
            number, kind, _ = self._module.fields[position]
            self._module.fields[position] = (number, kind, message.serialize())
        return self._module.serialize()


def _pair(region, computation: int, functions, module: _Hlo) -> None:
    """Names the calls of a computation after those of the region it was converted from.

    Each call has its own copy of the callee's computation, so each is named once.
    """
    holders = module.holders(computation)
    operations = list(_holders(region))
    if len(holders) != len(operations):
        raise _Unlike
    for (position, instruction), operation in zip(holders, operations, strict=True):
        kind = _kind(operation)
        called = instruction.integers(_CALLED)
        if instruction.first(_OPCODE) != kind:
            raise _Unlike
        if kind == b"call":
            match = _NAME.match(str(operation.location))
            if match and not instruction.child(_METADATA).first(_OP_NAME):
                module.set_name(computation, position, match[1])
            callee = str(operation.attributes["callee"]).lstrip("@").strip('"')
            regions = functions[callee].regions
        else:
            regions = list(operation.regions)
            # HLO lists a loop's body first, StableHLO its condition.
            called = called[::-1] if kind == b"while" else called
        if len(called) != len(regions):
            raise _Unlike
        for inner, number in zip(regions, called, strict=True):
            _pair(inner, number, functions, module)


def _holders(region) -> Iterator:
    for block in region.blocks:
        for operation in block.operations:
            if _kind(operation) is not None:
                yield operation.operation


def _kind(operation) -> bytes | None:
    name = operation.operation.name
    return _KINDS.get(name) or _KINDS.get(name.split(".")[-1])
