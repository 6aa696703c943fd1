"""Programs on one of several GPUs that XLA believes in (`jax_mock_gpu_topology`).

    believe_in(8)                      # before jax starts its backend
    ours = Partitioned(module_bytes, states=3)
    peer = Jitted(fn, arguments, in_shardings, out_shardings)
    pairs(ours, peer, steps=15)        # seconds; collectives bring garbage

Both keep their state from step to step.
"""

import math
import os
import time
from pathlib import Path

from _machine import describe


def believe_in(devices: int) -> None:
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_shard_autotuning=false"
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    import jax

    if os.environ.get("JAX_PLATFORMS") != "cpu":
        jax.config.update("jax_mock_gpu_topology", f"1x{devices}x1")


def described() -> str:
    """What the figures are of; starts jax's backend."""
    import jax

    return f"{jax.devices()[0].device_kind}; {describe('jax')}"


def platform() -> str:
    import jax

    return {"gpu": "cuda"}.get(jax.default_backend(), "cpu")


def sharding(mesh, spec):
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(mesh, PartitionSpec(*spec))


def made_up(shape, dtype):
    """Ones; integers differ, as tokens do: rows that all ask for take longer."""
    import jax.numpy as jnp

    if not shape or not jnp.issubdtype(dtype, jnp.integer):
        return jnp.ones(shape, dtype)
    count = math.prod(shape)
    return (7919 * jnp.arange(count) % 10007).reshape(shape).astype(dtype)


def placed(shape, dtype, sharding):
    """An array of which local devices have their shards."""
    import jax

    shard = made_up(sharding.shard_shape(shape), dtype)
    return jax.make_array_from_single_device_arrays(
        shape, sharding, [jax.device_put(shard, one) for one in jax.local_devices()]
    )


class Partitioned:
    """What `meshwright partition` made, compiled for as many replicas; its first
    `states` outputs are its first parameters of the next step."""

    def __init__(self, module: bytes, states: int, options: dict | None = None):
        import jax
        import numpy
        from jax._src.lib import xla_client

        self._devices = len(jax.devices())
        code = xla_client._xla.mlir.hlo_to_stablehlo(module)
        settings = xla_client.CompileOptions()
        settings.num_replicas, settings.num_partitions = self._devices, 1
        settings.device_assignment = xla_client.DeviceAssignment.create(
            numpy.array([[device.id] for device in jax.devices()], numpy.int32)
        )
        # As meshwright's runtime asks for it (runtime/collective_options.h).
        asked = {"xla_gpu_enable_latency_hiding_scheduler": True}
        settings.env_option_overrides = list((asked | (options or {})).items())
        devices = xla_client.DeviceList(tuple(jax.devices()))
        client = jax.local_devices()[0].client
        self._compiled = client.compile_and_load(code, devices, settings)
        # Shards of any shape: as parts of arrays that are split along the first.
        self._mesh = jax.make_mesh(
            (self._devices,), ("x",), (jax.sharding.AxisType.Auto,)
        )
        shapes = xla_client.XlaComputation(module).program_shape().parameter_shapes()
        self._arrays = [
            self._global(
                [
                    jax.device_put(made_up(s.dimensions(), s.numpy_dtype()), d)
                    for d in jax.local_devices()
                ]
            )
            for s in shapes
        ]
        self._states = states

    def _global(self, shards):
        import jax

        size = shards[0].shape
        whole = (size[0] * self._devices, *size[1:]) if size else ()
        return jax.make_array_from_single_device_arrays(
            whole, sharding(self._mesh, ("x",) if size else ()), shards
        )

    def text(self) -> str:
        return self._compiled.hlo_modules()[0].to_string()

    def temp_bytes(self) -> int:
        return self._compiled.get_compiled_memory_stats().temp_size_in_bytes

    def step(self):
        from jax._src.array import ArrayImpl

        results = self._compiled.execute_sharded(self._arrays)
        outputs = results.disassemble_into_single_device_arrays()
        for i, shards in enumerate(outputs[: self._states]):
            # As jax.jit does: what make_array_... checks takes longer than the step.
            old = self._arrays[i]
            self._arrays[i] = ArrayImpl(
                old.aval, old.sharding, shards, committed=True, _skip_checks=True
            )
        return outputs


class Jitted:
    """`jax.jit` of fn(state, batch) -> (state, loss) with shardings."""

    def __init__(self, fn, shapes, in_shardings, out_shardings):
        import jax

        self._state, self._batch = jax.tree_util.tree_map(
            lambda shape, one: placed(shape.shape, shape.dtype, one),
            shapes,
            in_shardings,
        )
        jitted = jax.jit(
            fn,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            donate_argnums=0,
        )
        self._compiled = jitted.lower(self._state, self._batch).compile()

    def text(self) -> str:
        return self._compiled.as_text()

    def temp_bytes(self) -> int:
        return self._compiled.memory_analysis().temp_size_in_bytes

    def step(self):
        self._state, loss = self._compiled(self._state, self._batch)
        return self._state, loss


def dump(folder: Path, prefix: str, sides: dict) -> None:
    """The optimised programs, as folder/PREFIX_SIDE.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, side in sides.items():
        (folder / f"{prefix}_{name}.txt").write_text(side.text())


def pairs(ours, peer, steps: int, warmup: int = 3) -> list[tuple[float, float]]:
    """Seconds of one step each, in turn, after `warmup` of them."""
    found = [(seconds(ours), seconds(peer)) for _ in range(warmup + steps)]
    return found[warmup:]


def seconds(side, steps: int = 4) -> float:
    """Of a step, where the next is started while one runs, as in training."""
    import jax

    start = time.perf_counter()
    for _ in range(steps):
        results = side.step()
    jax.block_until_ready(results)
    return (time.perf_counter() - start) / steps
