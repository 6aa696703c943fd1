"""HLO text with ragged-dots to StableHLO, which jaxlib's own import does not know.

    code = import_text(text)   # bytecode for compile_and_load

Each ragged-dot travels as a custom call and is one again in StableHLO.
"""

import re

_RAGGED = re.compile(r"ragged-dot\(([^)]*)\)((?:, \w+=\{[^}]*\})*)")
_DIMENSIONS = re.compile(r"(\w+)_dims=\{([\d,]*)\}")
_NAMES = {
    "lhs_batch": "lhs_batching_dimensions",
    "rhs_batch": "rhs_batching_dimensions",
    "lhs_contracting": "lhs_contracting_dimensions",
    "rhs_contracting": "rhs_contracting_dimensions",
    "lhs_ragged": "lhs_ragged_dimensions",
    "rhs_group": "rhs_group_dimensions",
}


def import_text(text: str) -> bytes:
    from jax._src.lib import xla_client
    from meshwright.stablehlo import hlo_text_to_hlo

    dots: list[dict[str, list[int]]] = []

    def as_call(match) -> str:
        numbers: dict[str, list[int]] = {name: [] for name in _NAMES.values()}
        for kind, dims in _DIMENSIONS.findall(match.group(2)):
            numbers[_NAMES[kind]] = [int(one) for one in dims.split(",") if one]
        dots.append(numbers)
        target = f"ragged_dot.{len(dots) - 1}"
        return f'custom-call({match.group(1)}), custom_call_target="{target}"'

    hlo = hlo_text_to_hlo(_RAGGED.sub(as_call, text))
    return _restored(xla_client._xla.mlir.hlo_to_stablehlo(hlo), dots)


def _restored(code: bytes, dots: list[dict[str, list[int]]]) -> bytes:
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import chlo
    from meshwright.stablehlo import bytecode

    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(code)
        calls = []

        def collect(op):
            if op.name == "stablehlo.custom_call":
                calls.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(collect)
        for op in calls:
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            kind, _, number = target.partition(".")
            if kind != "ragged_dot":
                continue
            numbers = chlo.RaggedDotDimensionNumbers.get(**dots[int(number)])
            with ir.InsertionPoint(op):
                result = chlo.ragged_dot(op.results[0].type, *op.operands, numbers)
            op.results[0].replace_all_uses_with(result)
            op.erase()
        return bytecode(module)
