"""XLA as the judge of the HLO text and bytes that the C++ code reads and writes.

Every program goes to the C++ reader as XLA's bytes. What comes back, once as
text through XLA's parser and once as bytes, must be the program XLA prints for
the original. So must what comes back for the text that XLA prints.
"""

import functools
import os
import pathlib
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from meshwright import zoo

hlo = pytest.importorskip("jaxlib._hlo", reason="jaxlib is too old")
hlo_programs = pytest.importorskip("hlo_programs")
hlo_snippets = pytest.importorskip("hlo_snippets")

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(
    os.environ.get("MW_HLO_TOOL", ROOT / "build/release/tests/hlo_tool")
)
TESTDATA = sorted((ROOT / "testdata").glob("*.hlo.pb*"))


def to_bytes(lowered):
    return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()


def lower_case(name):
    function, *arguments = hlo_programs.CASES[name]
    with jax.enable_x64(True):
        return to_bytes(jax.jit(function).lower(*arguments))


def parse_snippet(text):
    if "HloModule" not in text:
        text = "HloModule snippet\n" + text
    return hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def donation():
    def step(state, batch):
        return [state[0] + batch, state[1] * 2], batch.sum()

    state = [jnp.zeros(4), jnp.zeros((2, 3))]
    return jax.jit(step, donate_argnums=0).lower(state, jnp.ones(4))


def mesh():
    return Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("x", "y"))


def sharded_matmul():
    def place(*axes):
        return NamedSharding(mesh(), P(*axes))

    step = jax.jit(
        lambda a, b: jax.lax.with_sharding_constraint(a @ b, place("y", "x")),
        in_shardings=(place("x", "y"), place(("y", "x"), None)),
        out_shardings=place(),
    )
    return step.lower(jnp.ones((8, 16)), jnp.ones((16, 8)))


def shard_map_collectives():
    def body(x):
        lax = jax.lax
        ring = [(i, (i + 1) % 4) for i in range(4)]
        return (
            lax.psum(x, "x"),
            lax.pmax(x, ("x", "y")),
            lax.all_gather(x, "y"),
            lax.ppermute(x, "y", ring),
            lax.psum_scatter(x, "x", tiled=True),
            lax.all_to_all(x, "y", 1, 0, tiled=True),
            lax.axis_index("y"),
        )

    specs = (P("x"),) * 6 + (P(),)
    function = jax.shard_map(
        body, mesh=mesh(), in_specs=P("x"), out_specs=specs, check_vma=False
    )
    return jax.jit(function).lower(jnp.ones((8, 8)))


def optimized(lowered):
    """The scheduled, fused program XLA runs, as bytes."""
    (module,) = lowered.compile().runtime_executable().hlo_modules()
    return module.as_serialized_hlo_module_proto()


def optimized_mlp():
    def loss(w, x):
        for matrix in w:
            x = jnp.tanh(x @ matrix)
        return (x**2).mean()

    return jax.jit(jax.grad(loss)).lower([jnp.ones((8, 8))] * 3, jnp.ones((4, 8)))


PROGRAMS = {
    **{name: lambda name=name: lower_case(name) for name in hlo_programs.CASES},
    **{
        "text_" + name: lambda text=text: parse_snippet(text)
        for name, text in hlo_snippets.SNIPPETS.items()
    },
    "text_aliased": lambda: parse_snippet(hlo_snippets.ALIASED),
    "donation": lambda: to_bytes(donation()),
    "sharded_matmul": lambda: to_bytes(sharded_matmul()),
    "shard_map": lambda: to_bytes(shard_map_collectives()),
    "optimized_mlp": lambda: optimized(optimized_mlp()),
    "optimized_shard_map": lambda: optimized(shard_map_collectives()),
}


@functools.cache
def bytes_of(name):
    """Of a program, lowered once for all tests."""
    return PROGRAMS[name]()


@pytest.fixture(scope="module")
def tool():
    assert TOOL.exists(), f"{TOOL} is not built"

    def run(*arguments):
        result = subprocess.run(
            [TOOL, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def load(data):
    return hlo.HloModule.from_serialized_hlo_module_proto(data)


def show(module, **others):
    """All that XLA's text can hold, with constants in full."""
    options = hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = True
    for name, value in others.items():
        setattr(options, name, value)
    return module.to_string(options)


def split_tables(text):
    """The text without its stack frame tables, and those as a dict of dicts."""
    tables = {}
    for name in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
        block = re.search(rf"\n{name}\n((?:\d+ .*\n)+)", text)
        if block:
            rows = (row.split(" ", 1) for row in block.group(1).splitlines())
            tables[name] = dict(rows)
            text = text.replace(block.group(0), "\n")
    return text, tables


def describe_frame(tables, frame):
    """The frames from the given one outwards, free of table indices."""
    lines = []
    while frame in tables["StackFrames"]:
        place, parent = re.findall(r"=(\d+)", tables["StackFrames"][frame])
        location = tables["FileLocations"][place]
        file, function, where = re.match(
            r"\{file_name_id=(\d+) function_name_id=(\d+) (.*)\}", location
        ).groups()
        lines.append(
            tables["FileNames"][file] + tables["FunctionNames"][function] + where
        )
        frame = str(int(parent) - 1)  # Printed one too high; 0 ends the chain.
    return " < ".join(lines)


def normalized(text, frames):
    """The text with computations in the order of their names.

    XLA orders them and its stack frame tables by ids, which are not kept. Stack
    frames are written out in place, or left out.
    """
    text, tables = split_tables(text)

    def describe(match):
        return f' stack="{describe_frame(tables, match.group(1))}"' if frames else ""

    text = re.sub(r" ?stack_frame_id=(\d+)", describe, text)
    text = text.replace(", metadata={}", "")
    header, *computations = re.split(r"\n\n+", text.strip())
    return "\n\n".join([header, *sorted(computations)])


def check(tool, path, data):
    again = path.with_name("again")
    tool("roundtrip", path, again)
    original = show(load(data))
    written = show(load(again.read_bytes()))
    assert normalized(written, frames=True) == normalized(original, frames=True)
    parsed = show(hlo.hlo_module_from_text(tool("print", path)))
    assert normalized(parsed, frames=False) == normalized(original, frames=False)


def decompressed(path):
    data = path.read_bytes()
    if path.suffix != ".zst":
        return data
    return pytest.importorskip("zstandard").decompress(data)


@pytest.mark.parametrize("source", TESTDATA, ids=lambda path: path.name)
def test_xla_reads_modules_of_the_repository(tool, tmp_path, source):
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    check(tool, path, decompressed(source))


@pytest.mark.parametrize("name", PROGRAMS)
def test_xla_reads_what_we_write(tool, tmp_path, name):
    data = bytes_of(name)
    path = tmp_path / "module.hlo.pb"
    path.write_bytes(data)
    check(tool, path, data)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_xla_wrote_verifies(tool, tmp_path, name):
    path = tmp_path / "module.hlo.pb"
    path.write_bytes(bytes_of(name))
    tool("verify", path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_that_xla_prints_is_read(tool, tmp_path, name):
    module = load(bytes_of(name))
    text, again = tmp_path / "module.txt", tmp_path / "again"
    for options in ({}, {"print_operand_shape": True}):
        text.write_text(show(module, **options))
        tool("verify", text)
        tool("roundtrip", text, again)
        written = show(load(again.read_bytes()))
        assert normalized(written, frames=True) == normalized(show(module), frames=True)


def published_sizes():
    """Every size but tiny; scanned and small ones are quick."""
    quick = {("gpt-scan", "175b"), ("llama", "70b"), ("bert", "base")}
    for model in zoo.MODELS:
        for size in zoo.sizes_of(model):
            marks = () if (model, size) in quick else pytest.mark.long
            if size != "tiny":
                yield pytest.param(model, size, marks=marks)


@pytest.mark.parametrize(("model", "size"), published_sizes())
def test_published_sizes_verify_and_round_trip(tool, tmp_path, model, size):
    data = zoo.build(model, size).lower().hlo
    path = tmp_path / "module.hlo.pb"
    path.write_bytes(data)
    tool("verify", path)
    check(tool, path, data)
