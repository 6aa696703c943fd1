"""shard_map regions, manual along one axis of two, for kernel_shards.py.

A region does not run on one device: `plain` computes what its devices do together.
"""

from functools import partial

import numpy as np
from _attention_cases import normal

MESH = {"data": 2, "model": 4}


def island(jax, jnp):
    """A sum over devices, which device it is on, and the gradients of both."""
    axes = jax.sharding.AbstractMesh(tuple(MESH.values()), tuple(MESH))
    spec = jax.sharding.PartitionSpec
    split = (spec(), spec(None, "model"), spec("model", None))

    @partial(
        jax.shard_map,
        mesh=axes,
        axis_names={"model"},
        in_specs=split,
        out_specs=spec(),
        check_vma=False,
    )
    def region(x, up, down):
        hidden = jnp.tanh(x @ up) * (1 + jax.lax.axis_index("model")).astype(x.dtype)
        return jax.lax.psum(hidden @ down, "model")

    def alone(x, up, down):
        number = np.repeat(1 + np.arange(MESH["model"]), up.shape[1] // MESH["model"])
        return jnp.tanh(x @ up) * jnp.asarray(number, x.dtype) @ down

    def with_gradients(block):
        def fn(x, up, down, g):
            out, back = jax.vjp(block, x, up, down)
            return out, *back(g)

        return fn

    fn = with_gradients(region)
    fn.plain = with_gradients(alone)
    inputs = normal(jax, jnp, [(256, 512), (512, 1024), (1024, 512), (256, 512)])
    file = {"mesh": MESH, "up": "[-, model]", "down": "[model, -]"}
    rows = {"x": "[data, -]", "g": "[data, -]"}
    return fn, inputs, {"model": file, "data, model": file | rows}


CASES = {"island": island}
