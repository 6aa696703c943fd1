"""Converts StableHLO and HLO text to HloModuleProto with the installed jaxlib.

These functions are in different places in different versions of jaxlib; only this file
knows where.
"""

import io

from jax._src.lib import xla_client
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from meshwright.call_names import name_calls
from meshwright.wire import Message

_MODULE_ID = 5


def stablehlo_to_hlo(program: str | bytes, return_tuple: bool = True) -> bytes:
    """MLIR text or bytecode -> HloModuleProto with a flat tuple as its root.

    Without `return_tuple`, a single result is the root itself.
    """
    to_computation = xla_client._xla.mlir.mlir_module_to_xla_computation
    hlo = _serialize(
        to_computation(program, use_tuple_args=False, return_tuple=return_tuple)
    )
    with mlir.make_ir_context():
        return name_calls(hlo, lambda: ir.Module.parse(program))


def portable_artifact_to_hlo(artifact: bytes) -> bytes:
    """A versioned StableHLO artifact -> HloModuleProto."""
    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, artifact)
        return stablehlo_to_hlo(bytecode(module))


def bytecode(module) -> bytes:
    """An MLIR module as bytes, which preserve argument names, unlike its text."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def hlo_text_to_hlo(text: str) -> bytes:
    """HLO text as XLA prints it -> HloModuleProto."""
    namespace = getattr(xla_client, "hlo", xla_client._xla)
    return _serialize(namespace.hlo_module_from_text(text))


def _serialize(module) -> bytes:
    """Omits the module's id, which counts modules of this process and is not used."""
    message = Message.parse(module.as_serialized_hlo_module_proto())
    message.remove(_MODULE_ID)
    return message.serialize()
