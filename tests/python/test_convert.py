"""Conversion of every kind of program that jaxlib can read."""

import jax
import jax.numpy as jnp
import pytest

from meshwright import LoweredModule, MeshwrightError
from meshwright.convert import convert, main
from meshwright.files import compress, read_file
from meshwright.stablehlo import bytecode, hlo_text_to_hlo
from meshwright.wire import Message

X = jax.ShapeDtypeStruct((4, 4), jnp.float32)


def fn(x, y):
    z = jax.lax.fori_loop(0, 3, lambda _, z: jax.nn.gelu(z) @ y, x)
    return z, z.sum()


def program(kind: str) -> bytes:
    """The same function in each of the forms."""
    jitted = jax.jit(fn, donate_argnums=0)
    lowered = jitted.lower(X, X)
    computation = lowered.compiler_ir(dialect="hlo")
    if kind == "StableHLO text":
        return lowered.as_text().encode()
    if kind == "StableHLO bytecode":
        return bytecode(lowered.compiler_ir())
    if kind == "HLO text":
        return computation.as_hlo_text().encode()
    if kind == "HloModuleProto":
        return computation.as_serialized_hlo_module_proto()
    if kind == "HloProto":
        proto = Message()
        proto.add(1, computation.as_serialized_hlo_module_proto())
        return proto.serialize()
    pytest.importorskip("flatbuffers")
    from jax import export

    exported = export.export(jitted)(X, X)
    if kind == "portable artifact":
        return exported.mlir_module_serialized
    return bytes(exported.serialize())


KINDS = [
    "StableHLO text",
    "StableHLO bytecode",
    "portable artifact",
    "jax export",
    "HLO text",
    "HloModuleProto",
    "HloProto",
]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_becomes_the_same_module(kind):
    module = LoweredModule(convert(program(kind)))
    assert [(p.shape, p.dtype) for p in module.parameters] == [((4, 4), "f32")] * 2
    assert [o.shape for o in module.outputs] == [(4, 4), ()]
    assert module.aliases == {0: 0}


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["StableHLO text", "HLO text"])
def test_the_command_reads_and_writes_compressed_files(tmp_path, kind, suffix, capsys):
    source = tmp_path / f"anything{suffix}"
    source.write_bytes(compress(program(kind), source))
    target = tmp_path / f"out.hlo.pb{suffix}"
    assert main([str(source), str(target)]) == 0
    assert read_file(target) == convert(program(kind))
    assert "bytes of HLO" in capsys.readouterr().out


def test_a_single_result_becomes_a_tuple_of_one():
    text = jax.jit(lambda x: x + 1).lower(X).as_text().encode()
    assert len(LoweredModule(convert(text)).outputs) == 1


def test_hlo_text_needs_no_tuple():
    text = "HloModule m\nENTRY e {\n  ROOT p = f32[3]{0} parameter(0)\n}\n"
    assert convert(text.encode()) == hlo_text_to_hlo(text)


BAD = {
    "empty": (b"", "neither HLO nor StableHLO"),
    "prose": (b"hello", "neither HLO nor StableHLO"),
    "zeros": (bytes(100), "no XLA program"),
    "all bytes": (bytes(range(256)) * 4, "no XLA program"),
    "broken HLO": (b"HloModule x\n junk", "invalid HLO text"),
    "broken MLIR": (b"module { func.func bad }", "invalid StableHLO"),
    "broken bytecode": (b"ML\xefRjunk", "invalid StableHLO"),
    "broken artifact": (b"ML\xefR\x0dStableHLO_v1.0.0\0junk", "invalid StableHLO"),
}


@pytest.mark.parametrize(("data", "complaint"), BAD.values(), ids=BAD)
def test_anything_else_is_refused_in_one_line(data, complaint, tmp_path, capsys):
    with pytest.raises(MeshwrightError, match=complaint):
        convert(data)
    source = tmp_path / "bad"
    source.write_bytes(data)
    assert main([str(source), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()
