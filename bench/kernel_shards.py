"""Kernels under an 8-way split, all devices' programs on one GPU, against the whole kernel.

    ./mw bench kernel_shards                  # every kernel, every split
    ./mw bench kernel_shards attention ragged
    ./mw bench kernel_shards --lower-only     # without a GPU

Each case is lowered for CUDA and split as its file says. The program, as XLA gets it (with
`ragged-dot` in blocks of rows), runs for each device in turn on its shards; those that
communicate, for all devices as one module for the one device (`_all_devices.py`), with the
values that collectives would bring. Inputs are cut into shards, results joined and compared
with a run in f32. Prints the largest error, relative to the largest value, beside that of the
whole kernel as jax runs it. Bar: at most four times that one's, sixteen where parts are
summed up. A kernel that is far from the run in f32 itself is compared with its own results
(`_shard_errors.py`).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import _attention_cases
import _dropout_case
import _island_cases
import _kernel_cases
import _scaled_cases
import numpy as np
from _all_devices import all_devices
from _device_parts import joined, parts_of
from _ragged_import import import_text
from _shard_errors import BAR, SUM_BAR, is_kept, shard_errors

ROOT = Path(__file__).resolve().parents[1]
DEVICES = 8


CASES = {
    **_attention_cases.CASES,
    "dropout": _dropout_case.dropout,
    **_kernel_cases.CASES,
    **_scaled_cases.CASES,
    **_island_cases.CASES,
}


def _wide(jnp, array):
    narrow = (jnp.bfloat16, jnp.float8_e4m3fn)
    return array.astype(jnp.float32) if array.dtype in narrow else array


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


def run_shards(jax, text: str, shards: list, apart: bool) -> list:
    """The results of device 0, then of device 1, and so on.

    Programs that do not communicate run one after the other, others as one.
    """
    if apart:
        program = Program(jax, text)
        devices = range(DEVICES)
        return [r for d in devices for r in program.run([one[d] for one in shards])]
    arguments = [part for one in shards for part in one]
    return Program(jax, all_devices(text, DEVICES)).run(arguments)


def partitioned(binary: Path, path: Path, file: dict) -> tuple[dict, str]:
    """The report of a module that is split as `file` says, and the program for CUDA."""
    sharding, program = path.with_name("split.json"), path.with_name("program.hlo.pb")
    mesh = file.get("mesh", {"x": DEVICES})
    parameters = {name: spec for name, spec in file.items() if name != "mesh"}
    sharding.write_text(json.dumps({"mesh": mesh, "parameters": parameters}))
    command = [binary, "partition", path, "--sharding", sharding, "--json"]
    report = json.loads(_output([*command, "-o", program, "--platform", "cuda"]))
    if report["fallbacks"]:
        raise RuntimeError(f"runs whole: {report['fallbacks']}")
    return report | {"mesh": mesh}, _output([binary, "inspect", program, "--text"])


def are_alike(report: dict, text: str) -> bool:
    """Whether a device's program neither communicates nor asks which device it is."""
    asks = "partition-id(" in text or "replica-id(" in text
    return not report["collectives"] and not asks


def lower(jax, name: str, folder: Path):
    import jax.numpy as jnp

    import meshwright

    fn, inputs, splits, *judge = CASES[name](jax, jnp)
    path = folder / "kernel.hlo.pb"
    meshwright.lower(fn, *inputs, platform="cuda").save(path)
    return fn, inputs, splits, judge[0] if judge else None, path


def run_split(jax, inputs: list, report: dict, text: str) -> list:
    specs, mesh = report["shardings"]["parameters"], report["mesh"]
    shards = [parts_of(a, spec, mesh) for a, spec in zip(inputs, specs, strict=True)]
    results = run_shards(jax, text, shards, are_alike(report, text))
    return joined(results, report["shardings"]["outputs"], mesh)


def check_judged(jax, name, inputs, splits, judge, binary, path) -> list[bool]:
    found = []
    for split, file in splits.items():
        report, text = partitioned(binary, path, file)
        outputs = run_split(jax, inputs, report, text)
        axis = report["shardings"]["outputs"][0].strip("[]").split(", ").index("x")
        words, ok = judge(outputs, inputs, axis, DEVICES)
        print(f"{name:16} {split:11} {words}", flush=True)
        found.append(ok)
    return found


def check(jax, name: str, binary: Path, folder: Path) -> list[bool]:
    import jax.numpy as jnp

    fn, inputs, splits, judge, path = lower(jax, name, folder)
    if judge is not None:
        return check_judged(jax, name, inputs, splits, judge, binary, path)
    plain = getattr(fn, "plain", fn)  # What a device alone can run.
    whole = jax.jit(plain)(*inputs)
    with jax.default_matmul_precision("highest"):
        exact = jax.jit(plain)(*(_wide(jnp, one) for one in inputs))
    found = []
    for split, file in splits.items():
        report, text = partitioned(binary, path, file)
        outputs = run_split(jax, inputs, report, text)
        unit, errors = shard_errors(outputs, whole, exact)
        kinds = sorted({one["kind"] for one in report["collectives"]})
        print(
            f"{name:16} {split:11} {np.max(errors):.2f} of {max(unit):.1e}  "
            f"{' '.join(kinds) or 'no collectives'}",
            flush=True,
        )
        found.append(is_kept(errors, kinds))
    return found


def check_lowered(jax, name: str, binary: Path, folder: Path) -> list[bool]:
    """Without a GPU: that the case is split, and that its programs can be read."""
    *_, splits, _, path = lower(jax, name, folder)
    for split, file in splits.items():
        report, text = partitioned(binary, path, file)
        alike = are_alike(report, text)
        import_text(text if alike else all_devices(text, DEVICES))
        shardings = report["shardings"]
        kinds = sorted({one["kind"] for one in report["collectives"]})
        print(f"{name:16} {split:11} {' '.join(kinds) or 'no collectives'}")
        print(f"  {shardings['parameters']} -> {shardings['outputs']}", flush=True)
    return [True]


def _output(command) -> str:
    command = list(map(str, command))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)
    text = "only lower and split, without a GPU"
    parser.add_argument("--lower-only", action="store_true", help=text)
    options = parser.parse_args()
    if "dropout" in options.cases:  # XLA aborts there in command buffers.
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_enable_command_buffer="
    import jax

    found = []
    run = check_lowered if options.lower_only else check
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases or CASES:
            try:
                found += run(jax, name, options.binary, Path(folder))
            except (RuntimeError, ValueError, AssertionError) as error:
                print(f"{name:16} failed: {error}", flush=True)
                found.append(False)
    print(f"bars {BAR} and {SUM_BAR}: {'kept' if all(found) else 'missed'}")
    sys.exit(not all(found))


if __name__ == "__main__":
    main()
