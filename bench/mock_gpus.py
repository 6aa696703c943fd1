"""Step time of one of several mock GPUs, ours against a hand-written shard_map.

    ./mw bench mock_gpus                       # dp, megatron, context
    ./mw bench mock_gpus dp --set layers=4

One GPU, of eight (or more) that XLA believes in: programs are compiled for all and run on the one,
collectives bring garbage (`jax_mock_gpu_topology`). The step is a llama with cuDNN's
attention, of 32,768 tokens for `context`. Ours is what `meshwright partition` makes of it; the other side is `jax.jit` with
the same shardings and a `shard_map` around the kernel, as JAX asks for it, for `context` ring
attention by hand (`_ring.py`). Stepped in turn,
one step each. Prints medians and the median of each pair's ratio. Bar: 1.00.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.0
SIZE = {
    "layers": 2,
    "width": 2048,
    "heads": 16,
    "kv_heads": 16,
    "hidden": 5504,
    "vocab": 32000,
    "seq": 2048,
    "batch": 16,
}
BATCH = {r"^batch/": ("x", None)}
MODEL = {
    r"attention/[qkv]$": (None, "x", None),
    r"attention/out$": ("x", None, None),
    r"mlp/(gate|up)$": (None, "x"),
    r"mlp/down$": ("x", None),
    r"(params|mu|nu)/tokens$": ("x", None),
    r"(params|mu|nu)/head$": (None, "x"),
}
# What splits parameters, and queries, keys and values.
PLANS = {
    "dp": (BATCH, ("x", None, None, None)),
    "megatron": (MODEL, (None, None, "x", None)),
    "context": ({r"^batch/": (None, "x")}, (None, "x", None, None)),
}
LONG = {"batch": 1, "seq": 32768}  # Of the last one.


def build(plan: str, options):
    from meshwright import zoo

    size = SIZE | (LONG if plan == "context" else {})
    size |= {n: int(v) for n, v in (one.split("=") for one in options.set)}
    return zoo.build(
        "llama", "tiny", **size, dtype="bf16", attention=options.attention, scan=False
    )


def spec_of(name: str, rank: int, rules: dict) -> tuple:
    blocks = re.sub(r"/blocks/\d+/", "/blocks/", name)
    for pattern, spec in rules.items():
        if re.search(pattern, blocks):
            return spec
    return (None,) * rank


def inputs_of(step):
    """Names, shapes and tree of (state, batch)."""
    import jax
    from meshwright.naming import leaf_names

    tree = (step.state_shapes, step.batch_shapes)
    names = leaf_names(tree[0], "state") + leaf_names(tree[1], "batch")
    return names, *jax.tree_util.tree_flatten(tree)


def placed(shape, dtype, sharding):
    """An array of which local devices have their shards, all ones."""
    import jax

    shard = jax.numpy.ones(sharding.shard_shape(shape), dtype)
    return jax.make_array_from_single_device_arrays(
        shape, sharding, [jax.device_put(shard, one) for one in jax.local_devices()]
    )


def sharding(mesh, spec):
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(mesh, PartitionSpec(*spec))


class Ours:
    """The partitioned module, compiled for as many replicas."""

    def __init__(self, step, rules, mesh, binary: Path, folder: Path):
        self._devices = mesh.size
        import jax
        import numpy
        from jax._src.lib import xla_client

        names, shapes, _ = inputs_of(step)
        specs = [
            spec_of(name, len(shape.shape), rules)
            for name, shape in zip(names, shapes, strict=True)
        ]
        file = {
            "mesh": {"x": mesh.size},
            "parameters": {
                name: f"[{', '.join(axis or '-' for axis in spec)}]"
                for name, spec in zip(names, specs, strict=True)
                if any(spec)
            },
        }
        module, split = folder / "step.hlo.pb", folder / "split.hlo.pb"
        platform = {"gpu": "cuda"}.get(jax.default_backend(), "cpu")
        step.lower(platform).save(module)
        (folder / "split.json").write_text(json.dumps(file))
        command = [binary, "partition", module, "--sharding", folder / "split.json"]
        subprocess.run([*command, "-o", split], check=True)
        code = xla_client._xla.mlir.hlo_to_stablehlo(split.read_bytes())
        options = xla_client.CompileOptions()
        options.num_replicas, options.num_partitions = mesh.size, 1
        options.device_assignment = xla_client.DeviceAssignment.create(
            numpy.array([[device.id] for device in jax.devices()], numpy.int32)
        )
        # As meshwright's runtime asks for it.
        options.env_option_overrides = [
            (f"xla_gpu_{kind}_combine_threshold_bytes", "0")
            for kind in ("all_reduce", "all_gather", "reduce_scatter")
        ]
        devices = xla_client.DeviceList(tuple(jax.devices()))
        client = jax.local_devices()[0].client
        self._compiled = client.compile_and_load(code, devices, options)
        # Shards of any shape: as parts of arrays that are split along the first.
        self._mesh = mesh
        self._arrays = []
        for shape, spec in zip(shapes, specs, strict=True):
            size = sharding(mesh, spec).shard_shape(shape.shape)
            shard = jax.numpy.ones(size, shape.dtype)
            self._arrays.append(
                self._global([jax.device_put(shard, d) for d in jax.local_devices()])
            )
        self._states = len(jax.tree_util.tree_leaves(step.state_shapes))

    def _global(self, shards):
        import jax

        size = shards[0].shape
        whole = (size[0] * self._devices, *size[1:]) if size else ()
        return jax.make_array_from_single_device_arrays(
            whole, sharding(self._mesh, ("x",) if size else ()), shards
        )

    def text(self) -> str:
        return self._compiled.hlo_modules()[0].to_string()

    def step(self):
        results = self._compiled.execute_sharded(self._arrays)
        outputs = results.disassemble_into_single_device_arrays()
        self._arrays[: self._states] = [
            self._global(one) for one in outputs[: self._states]
        ]
        return outputs


class Peer:
    """`jax.jit` with shardings, and a shard_map around attention."""

    def __init__(self, step, rules, heads, mesh):
        import jax
        from _ring import ring_attention

        names, shapes, tree = inputs_of(step)
        specs = [
            sharding(mesh, spec_of(name, len(shape.shape), rules))
            for name, shape in zip(names, shapes, strict=True)
        ]
        state, batch = jax.tree_util.tree_unflatten(tree, specs)
        whole = jax.nn.dot_product_attention
        spec = jax.sharding.PartitionSpec(*heads)

        def mapped(q, k, v, **options):
            attend = (
                ring_attention("x", mesh.size)
                if heads[1]
                else lambda q, k, v: whole(q, k, v, **options)
            )
            return jax.shard_map(
                attend,
                mesh=mesh,
                in_specs=(spec,) * 3,
                out_specs=spec,
                check_vma=False,
            )(q, k, v)

        self._fn = jax.jit(
            step.fn,
            in_shardings=(state, batch),
            out_shardings=(state, sharding(mesh, ())),
            donate_argnums=0,
        )
        arrays = [
            placed(shape.shape, shape.dtype, one)
            for shape, one in zip(shapes, specs, strict=True)
        ]
        self._state, self._batch = jax.tree_util.tree_unflatten(tree, arrays)
        jax.nn.dot_product_attention = mapped
        try:
            self._compiled = self._fn.lower(self._state, self._batch).compile()
        finally:
            jax.nn.dot_product_attention = whole

    def text(self) -> str:
        return self._compiled.as_text()

    def step(self):
        self._state, loss = self._compiled(self._state, self._batch)
        return self._state, loss


def timed(side) -> float:
    import jax

    start = time.perf_counter()
    jax.block_until_ready(side.step())
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="*")
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--attention", default="cudnn")
    parser.add_argument("--dump", type=Path, help="optimised programs go there")
    parser.add_argument("--set", action="append", default=[], help="NAME=NUMBER")
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)
    options = parser.parse_args()
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_gpu_shard_autotuning=false"
    )
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    import jax

    if os.environ.get("JAX_PLATFORMS") != "cpu":
        jax.config.update(
            "jax_mock_gpu_topology",
            f"1x{options.devices}x1",
        )
    mesh = jax.make_mesh((options.devices,), ("x",), (jax.sharding.AxisType.Auto,))
    print(f"{'plan':10} {'ours ms':>9} {'jax ms':>9} {'by pair':>7}")
    ratios = []
    for plan in options.plans or PLANS:
        rules, heads = PLANS[plan]
        step = build(plan, options)  # Traced anew: attention is not the same.
        with tempfile.TemporaryDirectory() as folder:
            ours = Ours(step, rules, mesh, options.binary, Path(folder))
        peer = Peer(step, rules, heads, mesh)
        if options.dump:
            for name, side in (("ours", ours), ("jax", peer)):
                path = options.dump / f"{plan}_{name}.txt"
                path.write_text(side.text())
        pairs = [
            (timed(ours), timed(peer)) for _ in range(options.warmup + options.steps)
        ][options.warmup :]
        ratios.append(statistics.median(a / b for a, b in pairs))
        print(
            f"{plan:10} {statistics.median(a for a, _ in pairs) * 1e3:9.2f} "
            f"{statistics.median(b for _, b in pairs) * 1e3:9.2f} {ratios[-1]:7.3f}",
            flush=True,
        )
    missed = max(ratios) > BAR
    print(f"bar {BAR}: {'missed' if missed else 'kept'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
