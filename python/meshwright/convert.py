"""Converts any representation of an XLA program to an HloModuleProto.

    python -m meshwright.convert step.mlir step.hlo.pb.zst

Reads StableHLO as text, bytecode or portable artifact; functions serialized by
`jax.export`; HLO text; and HloModuleProto or HloProto, as dumped by XLA. Any of them
may be compressed. The format is recognised by the content, never by the file's name.
"""

import argparse
import os
import sys
from pathlib import Path

from meshwright.errors import MeshwrightError, in_one_line
from meshwright.files import read_file, write_file
from meshwright.wire import Message, WireError

_BYTECODE_MAGIC = b"ML\xefR"
_PORTABLE_PRODUCER = b"StableHLO_v"
# HloModuleProto: entry computation name, computations, program shape.
_MODULE_FIELDS = (2, 3, 4)
_HLO_PROTO_MODULE = 1


def convert(data: bytes) -> bytes:
    """The program in `data`, which is not compressed, as an HloModuleProto.

    Raises MeshwrightError if the format is not recognised.
    """
    if data.startswith(_BYTECODE_MAGIC):
        if _PORTABLE_PRODUCER in data[:32]:
            return _from_portable_artifact(data)
        return _from_stablehlo(data)
    text = _as_text(data)
    if text is not None:
        return _from_text(text)
    return _from_module(data) or _from_export(data)


def _as_text(data: bytes) -> str | None:
    if b"\0" in data[:4096]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _from_text(text: str) -> bytes:
    from meshwright.stablehlo import hlo_text_to_hlo

    if "HloModule" in text:
        return _attempt("HLO text", hlo_text_to_hlo, text)
    if "func.func" in text or "module" in text:
        return _from_stablehlo(text)
    raise MeshwrightError("text that is neither HLO nor StableHLO")


def _from_stablehlo(program: str | bytes) -> bytes:
    from meshwright.stablehlo import stablehlo_to_hlo

    return _attempt("StableHLO", stablehlo_to_hlo, program)


def _from_portable_artifact(data: bytes) -> bytes:
    from meshwright.stablehlo import portable_artifact_to_hlo

    return _attempt("StableHLO artifact", portable_artifact_to_hlo, data)


def _from_module(data: bytes) -> bytes | None:
    """The module itself, extracted from an HloProto if necessary."""
    try:
        message = Message.parse(data)
        if _is_module(message):
            return data
        inner = message.first(_HLO_PROTO_MODULE)
        if isinstance(inner, bytes) and _is_module(Message.parse(inner)):
            return inner
    except WireError:
        pass
    return None


def _is_module(message: Message) -> bool:
    return all(isinstance(message.first(n), bytes) for n in _MODULE_FIELDS)


def _from_export(data: bytes) -> bytes:
    from jax import export

    try:
        exported = export.deserialize(bytearray(data))
    except Exception as error:
        raise MeshwrightError(
            "no XLA program: not StableHLO, HLO text, an HLO module or a jax export"
        ) from error
    if len(exported.platforms) != 1:
        raise MeshwrightError(
            f"a jax export for several platforms: {', '.join(exported.platforms)}"
        )
    return _from_portable_artifact(exported.mlir_module_serialized)


def _attempt(kind: str, function, program) -> bytes:
    try:
        return function(program)
    except Exception as error:
        raise MeshwrightError(f"invalid {kind}: {in_one_line(error)}") from error


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m meshwright.convert",
        description="StableHLO, HLO text or a jax export -> .hlo.pb[.gz|.zst]",
    )
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args(argv)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        hlo = convert(read_file(options.input))
        write_file(options.output, hlo)
    except MeshwrightError as error:
        print(f"convert: {options.input}: {error}", file=sys.stderr)
        return 2
    print(f"{options.output}: {len(hlo):,} bytes of HLO")
    return 0


if __name__ == "__main__":
    sys.exit(main())
