"""spmd_oracle.py CLI CASE...: our partitioned steps against XLA's partitioner.

A case is MODEL:PLAN, or MODEL for all plans of it; with @PLATFORM behind it, ours is as
that platform's compiler gets it. Both programs get the same shards on
8 virtual devices and are run by jax's own client. Prints a line for each: {"case",
"tensors": how many, "worst": name, "error": of the scale of that tensor, "wire_bytes":
that ours sends}.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVICES = 8

# Both sides are compiled in little time rather than to run fast.
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} "
    f"--xla_force_host_platform_device_count={DEVICES} "
    "--xla_backend_optimization_level=0"
)
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(str(ROOT / "bench"))

import jax
import numpy as np
from _sharded_step import Case, cases
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.sharding import NamedSharding, PartitionSpec
from jaxlib.mlir import ir
from meshwright.shardings import parse_sharding


def example_inputs(case: Case) -> dict:
    """The first step's, but Adam's second moments are not zero.

    From zero they would make every update one of full size, and magnify rounding
    errors in gradients; the first moments stay zero and come out as gradients.
    """
    random = np.random.default_rng(0)

    def fill(path, leaf):
        if any(getattr(key, "name", "") == "nu" for key in path):
            return random.uniform(0.5, 1.0, leaf.shape).astype(leaf.dtype)
        return np.asarray(leaf)

    inputs = {"state": case.step.init_state(), "batch": case.step.example_batch()}
    return jax.tree_util.tree_map_with_path(fill, inputs)


def partition(cli: str, case: Case, platform: str) -> tuple[bytes, dict]:
    """Our program for one device, and the report on it."""
    with tempfile.TemporaryDirectory() as folder:
        module, shardings = case.save(Path(folder))
        out = Path(folder) / "out.hlo.pb"
        command = [cli, "partition", module, "--sharding", shardings, "--output", out]
        if platform:
            command += ["--platform", platform]
        report = subprocess.check_output([*map(str, command), "--json"])
        return out.read_bytes(), json.loads(report)


def compile_replicas(hlo: bytes):
    backend = jax.local_devices()[0].client
    options = compiler.get_compile_options(num_replicas=DEVICES, num_partitions=1)
    assignment = np.arange(DEVICES).reshape(DEVICES, 1)
    options.device_assignment = xla_client.DeviceAssignment.create(assignment)
    with mlir.make_ir_context():
        module = ir.Module.parse(xla_client._xla.mlir.hlo_to_stablehlo(hlo))
        devices = xla_client.DeviceList(tuple(backend.devices()))
        return backend.compile_and_load(module, devices, options, [])


def named(texts: list[str], mesh) -> list[NamedSharding]:
    """Of "[data, -]" and the like."""
    specs = ([tuple(d) or None for d in parse_sharding(text)] for text in texts)
    return [NamedSharding(mesh, PartitionSpec(*spec)) for spec in specs]


def run_ours(case: Case, inputs: dict, hlo: bytes, report: dict) -> list[np.ndarray]:
    mesh = jax.tree_util.tree_leaves(case.shardings)[0].mesh
    # As the arguments of the step, not by key.
    leaves = jax.tree_util.tree_leaves((inputs["state"], inputs["batch"]))
    placed = jax.device_put(leaves, named(report["shardings"]["parameters"], mesh))
    results = compile_replicas(hlo).execute_sharded(placed)
    shards = results.disassemble_into_single_device_arrays()
    shardings = named(report["shardings"]["outputs"], mesh)
    whole = []
    for output, sharding, parts in zip(
        case.module.outputs, shardings, shards, strict=True
    ):
        array = jax.make_array_from_single_device_arrays(output.shape, sharding, parts)
        whole.append(np.asarray(array))
    return whole


def run_xla(case: Case, inputs: dict) -> list[np.ndarray]:
    placed = jax.device_put(inputs, case.shardings)
    result = case.jitted()(placed["state"], placed["batch"])
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(result)]


def error_of(want: np.ndarray, got: np.ndarray) -> float:
    """The largest, of the tensor's scale; NaN where either is."""
    difference = np.abs(want.astype(np.float64) - got.astype(np.float64)).max()
    return float(difference / max(np.abs(want).max(), 1e-30)) if difference else 0.0


def compare(cli: str, case: Case, platform: str) -> dict:
    inputs = example_inputs(case)
    hlo, ours = partition(cli, case, platform)
    want, got = run_xla(case, inputs), run_ours(case, inputs, hlo, ours)
    names = [output.name for output in case.module.outputs]
    errors = {name: error_of(a, b) for name, a, b in zip(names, want, got, strict=True)}
    worst = max(errors, key=lambda name: np.nan_to_num(errors[name], nan=np.inf))
    return {
        "case": f"{case.name}@{platform}" if platform else case.name,
        "tensors": len(errors),
        "worst": worst,
        "error": errors[worst],
        "wire_bytes": ours["wire_bytes"],
    }


def main(cli: str, *chosen: str) -> None:
    for text in chosen:
        name, _, platform = text.partition("@")
        for case in cases([name]):
            print(json.dumps(compare(cli, case, platform)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
