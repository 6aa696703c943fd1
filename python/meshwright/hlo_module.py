"""The few parts of an HloModuleProto that lowering reads and writes.

Everything else in the module is preserved byte for byte. Field numbers are XLA's.

    module = HloModule(data)
    module.parameters[0].attributes          # {'mw.name': 'state/w', ...}
    module.set_aliases({0: 0})               # parameter 0 -> output 0
    data = module.serialize()
"""

from collections.abc import Iterable
from dataclasses import dataclass

from meshwright.errors import MeshwrightError
from meshwright.wire import Message, WireError, pack, scan, string_map, with_strings

# HloModuleProto.
_COMPUTATIONS, _ENTRY_ID, _ALIAS, _DONOR, _MODULE_ATTRIBUTES = 3, 6, 8, 18, 19
# HloComputationProto.
_INSTRUCTIONS, _COMPUTATION_ID, _ROOT_ID = 2, 5, 6
# HloInstructionProto.
_OPCODE, _SHAPE, _PARAMETER_NUMBER, _ID, _ATTRIBUTES = 2, 3, 9, 35, 68
# ShapeProto.
_ELEMENT_TYPE, _DIMENSIONS, _TUPLE_SHAPES = 2, 3, 4
# HloInputOutputAliasProto and HloBufferDonorProto entries.
_ENTRIES, _ALIAS_OUTPUT, _ALIAS_PARAMETER, _ALIAS_KIND, _DONOR_PARAMETER = 1, 1, 2, 4, 1
_MAY_ALIAS = 1

_TUPLE = 13

# XLA's PrimitiveType, by number.
_DTYPES = """
invalid pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 tuple opaque c64 bf16 token c128
f8e5m2 f8e4m3fn s4 u4 f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 s1 u1
f4e2m1fn f8e8m0fnu buffer f6e3m2fn f6e2m3fn
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Shape:
    """An array shape in terms of HLO: `Shape((8, 64), "s32")`."""

    dimensions: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class EntryParameter:
    """A parameter of the entry computation, with its frontend attributes."""

    shape: Shape
    attributes: dict[str, str]


class HloModule:
    """An HloModuleProto whose entry can be read and edited.

    Requires a flat entry: array parameters, and a tuple of arrays as the result. Raises
    MeshwrightError for other bytes.
    """

    def __init__(self, data: bytes):
        try:
            self._open(data)
        except (WireError, TypeError, AttributeError, UnicodeDecodeError) as error:
            raise MeshwrightError(f"not an HLO module: {error}") from error

    @property
    def parameters(self) -> list[EntryParameter]:
        return [
            EntryParameter(
                _shape(message.child(_SHAPE)), string_map(message.child(_ATTRIBUTES))
            )
            for message in self._parameters
        ]

    @property
    def outputs(self) -> list[Shape]:
        return self._outputs

    @property
    def attributes(self) -> dict[str, str]:
        return string_map(self._module.child(_MODULE_ATTRIBUTES))

    @property
    def aliases(self) -> dict[int, int]:
        """Parameter number -> output index, for each pair the module lists."""
        entries = map(Message.parse, self._module.child(_ALIAS).all(_ENTRIES))
        return {
            entry.first(_ALIAS_PARAMETER, 0): entry.integers(_ALIAS_OUTPUT)[0]
            for entry in entries
        }

    @property
    def donors(self) -> list[int]:
        """Donated parameters without a particular output that reuses their memory."""
        entries = map(Message.parse, self._module.child(_DONOR).all(_ENTRIES))
        return [entry.first(_DONOR_PARAMETER, 0) for entry in entries]

    def set_attributes(self, changes: dict[str, str]) -> None:
        _set_strings(self._module, _MODULE_ATTRIBUTES, changes)

    def set_parameter_attributes(self, number: int, changes: dict[str, str]) -> None:
        _set_strings(self._parameters[number], _ATTRIBUTES, changes)

    def set_aliases(self, aliases: dict[int, int], donors: Iterable[int] = ()) -> None:
        """Replaces the alias and donor tables; all aliases are MAY_ALIAS.

        XLA refuses a parameter in both tables.
        """
        alias_table, donor_table = Message(), Message()
        for parameter, output in sorted(aliases.items(), key=lambda pair: pair[1]):
            entry = Message()
            entry.add(_ALIAS_OUTPUT, pack([output]))
            entry.add(_ALIAS_PARAMETER, parameter)
            entry.add(_ALIAS_KIND, _MAY_ALIAS)
            alias_table.add(_ENTRIES, entry)
        for parameter in donors:
            entry = Message()
            entry.add(_DONOR_PARAMETER, parameter)
            donor_table.add(_ENTRIES, entry)
        for number, table in ((_ALIAS, alias_table), (_DONOR, donor_table)):
            if table.fields:
                self._module.set(number, table)
            else:
                self._module.remove(number)

    def serialize(self) -> bytes:
        for position, message in zip(self._positions, self._parameters, strict=True):
            number, kind, _ = self._entry.fields[position]
            self._entry.fields[position] = (number, kind, message.serialize())
        number, kind, _ = self._module.fields[self._entry_position]
        entry = self._entry.serialize()
        self._module.fields[self._entry_position] = (number, kind, entry)
        return self._module.serialize()

    def _open(self, data: bytes) -> None:
        self._module = Message.parse(data)
        self._entry_position = self._find_entry()
        self._entry = Message.parse(self._module.fields[self._entry_position][2])
        self._find_parameters()
        root = self._find_instruction(self._entry.first(_ROOT_ID, 0))
        shape = root.child(_SHAPE)
        if shape.first(_ELEMENT_TYPE) != _TUPLE:
            raise MeshwrightError("not a flat module: the entry's root is not a tuple")
        self._outputs = [_shape(Message.parse(s)) for s in shape.all(_TUPLE_SHAPES)]

    def _find_entry(self) -> int:
        entry_id = self._module.first(_ENTRY_ID, 0)
        for position, (number, _, value) in enumerate(self._module.fields):
            if (
                number == _COMPUTATIONS
                and _first(value, _COMPUTATION_ID, 0) == entry_id
            ):
                return position
        raise MeshwrightError("not an HLO module: it has no entry computation")

    def _find_parameters(self) -> None:
        found = {}
        for position, (number, _, value) in enumerate(self._entry.fields):
            if number == _INSTRUCTIONS and _first(value, _OPCODE) == b"parameter":
                message = Message.parse(value)
                found[message.first(_PARAMETER_NUMBER, 0)] = (position, message)
        if sorted(found) != list(range(len(found))):
            raise MeshwrightError("not an HLO module: parameters are not 0, 1, 2, ...")
        ordered = [found[number] for number in range(len(found))]
        self._positions = [position for position, _ in ordered]
        self._parameters = [message for _, message in ordered]

    def _find_instruction(self, instruction_id: int) -> Message:
        for number, _, value in reversed(self._entry.fields):
            if number == _INSTRUCTIONS and _first(value, _ID, 0) == instruction_id:
                return Message.parse(value)
        raise MeshwrightError("not an HLO module: the entry has no root")


def _first(data: bytes, number: int, default=None):
    """One field of a message, without parsing the others into memory."""
    return next((value for n, _, value in scan(data) if n == number), default)


def _set_strings(message: Message, number: int, changes: dict[str, str]) -> None:
    message.set(number, with_strings(message.child(number), changes))


def _shape(message: Message) -> Shape:
    element_type = message.first(_ELEMENT_TYPE, 0)
    if not 0 < element_type < len(_DTYPES) or element_type == _TUPLE:
        raise MeshwrightError(f"not a flat module: element type {element_type}")
    return Shape(tuple(message.integers(_DIMENSIONS)), _DTYPES[element_type])
