"""Kernels under an 8-way split, all devices' programs on one GPU, against the whole kernel.

    ./mw bench kernel_shards                  # every kernel, every split
    ./mw bench kernel_shards attention ragged

Each case is lowered for CUDA and split as its file says. The program runs for each device in
turn on its shards; those that communicate, for all devices as one module for the one device
(`_all_devices.py`), with the values that collectives would bring. Inputs are cut into shards, results joined and compared with
a run in f32. Prints the largest error, relative to the largest value, beside that of the
whole kernel as jax runs it. Bar: at most four times that one's, sixteen where parts are
summed up.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _all_devices import all_devices
from _ragged_import import import_text

ROOT = Path(__file__).resolve().parents[1]
DEVICES = 8
BAR = 4.0
SUM_BAR = 16.0  # Parts are rounded to bf16 before they are summed up.


def attention(jax, jnp):
    def fn(q, k, v, g):
        kernel = "cudnn" if q.dtype == jnp.bfloat16 else "xla"

        def attend(q, k, v):
            return jax.nn.dot_product_attention(
                q, k, v, is_causal=True, implementation=kernel
            )

        out, back = jax.vjp(attend, q, k, v)
        return out, *back(g)

    shapes = [(8, 1024, 16, 128), (8, 1024, 8, 128), (8, 1024, 8, 128)]
    inputs = _normal(jax, jnp, [*shapes, shapes[0]])
    splits = {
        "batch": {name: "[x, -, -, -]" for name in "qkvg"},
        "heads": {name: "[-, -, x, -]" for name in "qkvg"},
        "sequence": {name: "[-, x, -, -]" for name in "qkvg"},
    }
    return fn, inputs, splits


def ragged(jax, jnp):
    def fn(x, w, g, sizes):
        out, back = jax.vjp(lambda x, w: jax.lax.ragged_dot(x, w, sizes), x, w)
        return out, *back(g)

    inputs = _normal(jax, jnp, [(4096, 512), (16, 512, 1024), (4096, 1024)])
    sizes = np.random.default_rng(1).multinomial(4000, np.ones(16) / 16)
    inputs.append(jnp.asarray(sizes, jnp.int32))
    splits = {
        "rows": {"x": "[x, -]", "g": "[x, -]"},
        "groups": {"w": "[x, -, -]"},
        "contracted": {"x": "[-, x]", "w": "[-, x, -]"},
        "free": {"w": "[-, -, x]", "g": "[-, x]"},
    }
    return fn, inputs, splits


def pallas_norm(jax, jnp):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    import meshwright

    def body(x_ref, scale_ref, out_ref):
        x = x_ref[...].astype(jnp.float32)
        mean = jnp.mean(x * x, axis=-1, keepdims=True)
        scale = scale_ref[...].astype(jnp.float32)
        out_ref[...] = (x * jax.lax.rsqrt(mean + 1e-6) * scale).astype(out_ref.dtype)

    @meshwright.kernel(rule="b n, n -> b n {need_replication: n}")
    def norm(x, scale):
        rows, width = x.shape
        return pl.pallas_call(
            body,
            grid=(rows // 8,),
            in_specs=[
                pl.BlockSpec((8, width), lambda i: (i, 0)),
                pl.BlockSpec((width,), lambda i: (0,)),
            ],
            out_specs=pl.BlockSpec((8, width), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            compiler_params=triton.CompilerParams(),
        )(x, scale)

    def fn(x, scale):
        y = norm(x, scale)
        return y, -y

    return fn, _normal(jax, jnp, [(4096, 1024), (1024,)]), {"rows": {"x": "[x, -]"}}


def pallas_attention(jax, jnp):
    from jax.experimental.pallas.ops.gpu.attention import mha

    import meshwright

    rule = "b t n h, b s n h, b s n h -> b t n h {need_replication: t s h}"

    @meshwright.kernel(rule=rule)
    def attend(q, k, v):
        return mha(q, k, v, segment_ids=None, sm_scale=0.125, causal=True)

    def fn(q, k, v):
        if q.dtype == jnp.bfloat16:
            y = attend(q, k, v)
        else:
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True, scale=0.125)
        return y, -y

    inputs = _normal(jax, jnp, [(8, 1024, 8, 64)] * 3)
    splits = {
        "batch": {name: "[x, -, -, -]" for name in "qkv"},
        "heads": {name: "[-, -, x, -]" for name in "qkv"},
    }
    return fn, inputs, splits


CASES = {
    "attention": attention,
    "pallas_norm": pallas_norm,
    "pallas_attention": pallas_attention,
    "ragged": ragged,
}


def _wide(jnp, array):
    return array.astype(jnp.float32) if array.dtype == jnp.bfloat16 else array


def _normal(jax, jnp, shapes):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return [
        jax.random.normal(key, shape, jnp.bfloat16)
        for key, shape in zip(keys, shapes, strict=True)
    ]


class Program:
    """A module, compiled for the first device."""

    def __init__(self, jax, text: str):
        from jax._src.lib import xla_client

        code = import_text(text)
        self._device = jax.devices()[0]
        devices = xla_client.DeviceList((self._device,))
        self._compiled = self._device.client.compile_and_load(code, devices)
        self._put = jax.device_put

    def run(self, arguments: list) -> list:
        placed = [self._put(one, self._device) for one in arguments]
        results = self._compiled.execute_sharded(placed)
        return [one[0] for one in results.disassemble_into_single_device_arrays()]


def run_shards(jax, command: list, shards: list, apart: bool) -> list:
    """The results of device 0, then of device 1, and so on.

    Programs that do not communicate run one after the other, others as one.
    """
    text = _output([*command, "--text"])
    if apart:
        program = Program(jax, text)
        devices = range(DEVICES)
        return [r for d in devices for r in program.run([one[d] for one in shards])]
    arguments = [part for one in shards for part in one]
    return Program(jax, all_devices(text, DEVICES)).run(arguments)


def parts_of(array, spec: str):
    """The shards of an array, by device."""
    axes = spec.strip("[]").split(", ")
    if "x" not in axes:
        return [array] * DEVICES
    return np.split(np.asarray(array), DEVICES, axes.index("x"))


def difference(got, want) -> float:
    got, want = (np.asarray(one).astype(np.float32) for one in (got, want))
    return float(np.abs(got - want).max() / np.abs(want).max())


def check(jax, name: str, binary: Path, folder: Path) -> list[bool]:
    import jax.numpy as jnp

    import meshwright

    fn, inputs, splits = CASES[name](jax, jnp)
    whole = jax.jit(fn)(*inputs)
    with jax.default_matmul_precision("highest"):
        exact = jax.jit(fn)(*(_wide(jnp, one) for one in inputs))
    rounding = [difference(a, b) for a, b in zip(whole, exact, strict=True)]
    path = folder / "kernel.hlo.pb"
    meshwright.lower(fn, *inputs, platform="cuda").save(path)
    found = []
    for split, file in splits.items():
        sharding = folder / "split.json"
        sharding.write_text(json.dumps({"mesh": {"x": DEVICES}, "parameters": file}))
        command = [binary, "partition", path, "--sharding", sharding]
        report = json.loads(_output([*command, "--json"]))
        specs = report["shardings"]["parameters"]
        shards = [parts_of(a, spec) for a, spec in zip(inputs, specs, strict=True)]
        apart = not report["collectives"]
        results = run_shards(jax, command, shards, apart)
        count = len(whole)
        outputs = report["shardings"]["outputs"]
        errors = []
        for i, want in enumerate(exact):
            parts = [np.asarray(results[d * count + i]) for d in range(DEVICES)]
            axes = outputs[i].strip("[]").split(", ")
            got = np.concatenate(parts, axes.index("x")) if "x" in axes else parts[0]
            errors.append(difference(got, want) / rounding[i])
        kinds = sorted({one["kind"] for one in report["collectives"]})
        print(
            f"{name:10} {split:11} {max(errors):.2f} of {max(rounding):.1e}  "
            f"{' '.join(kinds) or 'no collectives'}",
            flush=True,
        )
        found.append(max(errors) <= (SUM_BAR if "all-reduce" in kinds else BAR))
    return found


def _output(command) -> str:
    command = list(map(str, command))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)
    options = parser.parse_args()
    import jax

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases or CASES:
            found += check(jax, name, options.binary, Path(folder))
    print(f"bars {BAR} and {SUM_BAR}: {'kept' if all(found) else 'missed'}")
    sys.exit(not all(found))


if __name__ == "__main__":
    main()
