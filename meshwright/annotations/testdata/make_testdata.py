"""Lowers the small annotated modules that the tests of partition/ read.

python make_testdata.py jax04   # with jax 0.4.35
python make_testdata.py jax10   # with jax 0.10.2
"""

import gzip
import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

DEVICES = np.array(jax.devices())
MESH = Mesh(DEVICES.reshape(4, 2), ("data", "model"))


def on(*spec):
    return NamedSharding(MESH, P(*spec))


def step(w, b, x):
    y = jax.lax.with_sharding_constraint(x @ w + b, on("data", P.UNCONSTRAINED))
    z = jax.lax.with_sharding_constraint(jnp.tanh(y), on(None, ("model", "data")))
    return {"b": b, "w": w - 1.0, "z": z}, jnp.sum(z), jnp.max(z)


def scan(w, x):
    def body(carry, _):
        return jax.lax.with_sharding_constraint(carry @ w, on("data", "model")), None

    return jax.lax.scan(body, x, None, length=3)[0]


def constrained_output(x):
    return jax.lax.with_sharding_constraint(x * 2, on("data")), x + 1


def manual(x):
    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map
    body = lambda a: jax.lax.psum(a, "data")
    return shard_map(body, mesh=MESH, in_specs=P("data"), out_specs=P())(x) + 1


def alike(x, y):
    from jax.experimental.shard_alike import shard_alike

    return shard_alike(x * 2, y * 3)


def alike_scan(w, x):
    from jax.experimental.shard_alike import shard_alike

    def body(carry, _):
        carry, product = shard_alike(carry, carry @ w)
        return jnp.tanh(product), None

    carry = jax.lax.scan(body, x, None, length=3)[0]
    wanted = jax.lax.with_sharding_constraint(x + 1, on("data", "model"))
    return shard_alike(carry, wanted)


def modules():
    def shape(*dimensions):
        return jax.ShapeDtypeStruct(dimensions, jnp.float32)

    outs = {"b": None, "w": on("model"), "z": on(None, ("data", "model"))}
    yield (
        "step",
        jax.jit(
            step,
            in_shardings=(on("model", None), None, on("data")),
            out_shardings=(outs, None, on()),
        ),
        (shape(16, 32), shape(32), shape(8, 16)),
    )
    in_shardings = (on(), on("data", "model"))
    yield (
        "scan",
        jax.jit(scan, in_shardings=in_shardings),
        (shape(16, 16), shape(8, 16)),
    )
    function = jax.jit(constrained_output, out_shardings=(None, on(None, "model")))
    yield "constrained_output", function, (shape(8, 16),)
    yield "manual", jax.jit(manual), (shape(8, 16),)
    if jax.__version__ != "0.4.35":  # Where shard_alike does not lower.
        x = shape(8, 16)
        yield "alike", jax.jit(alike, in_shardings=(on("data"), None)), (x, x)
        yield "alike_scan", jax.jit(alike_scan), (shape(16, 16), x)


def main(suffix):
    # Leave the folder of this file out of the modules.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
    from meshwright.stablehlo import bytecode, stablehlo_to_hlo

    for shardy, kind in ((False, "gspmd"), (True, "shardy")):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        for name, function, args in modules():
            lowered = function.lower(*args)
            data = stablehlo_to_hlo(bytecode(lowered.compiler_ir()))
            file = Path(__file__).with_name(f"{name}.{kind}.{suffix}.hlo.pb.gz")
            file.write_bytes(gzip.compress(data, mtime=0))


main(sys.argv[1])
