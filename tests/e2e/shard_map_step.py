"""Lowers a training step with shard_map regions, and runs it as JAX does.

python shard_map_step.py KIND FORM FOLDER|MODULE.hlo.pb

KIND is mlp (a psum and its gradients), ring (every kind of collective, some in a loop,
and which device it is on), layers (a region in a scan over layers), partial (manual
along one axis of two), numbered and numbered_rows (the same, and which device it is on,
along the inner or the outer axis), fsdp (weights gathered along the axis of the batch, a mask that
enters, a loop of permutations, and which device it is on), two (one region after the
other), seeded (random numbers by device), positions (the row on a device), inside (the
loss within a region) or library (custom_partitioning in a region that is manual along
one axis, and beside it, which JAX itself leaves to XLA: with a MODULE only); FORM is shardy or gspmd. FOLDER gets step.hlo.pb, inputs.npz by
parameter, and after.npz: the state after three steps on 8 virtual devices, partitioned
by XLA. With a MODULE it is only lowered.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import PartitionSpec as P

import meshwright

STEPS = 3
MESH = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))


def region(fn=None, **specs):
    return jax.shard_map(fn, mesh=MESH, **specs) if fn else partial(region, **specs)


@region(
    in_specs=(P("data", None), P(None, "model"), P("model", None)),
    out_specs=P("data", None),
)
def mlp(x, up, down):
    return lax.psum(jnp.tanh(x @ up) @ down, "model")


@region(
    in_specs=(P("data", None), P(None, "model"), P("model", None)),
    out_specs=P("data", None),
    check_vma=False,
)
def ring(x, up, down):
    """The hidden layer passed around a ring, blocks of it in other orders."""
    hidden = jnp.tanh(x @ up) * (1 + lax.axis_index("model"))

    def turn(i, total):
        shifted = lax.ppermute(total, "model", [(d, (d + 1) % 4) for d in range(4)])
        return 0.5 * shifted + lax.pmean(total, ("data", "model")) * i

    hidden = lax.fori_loop(0, 3, turn, hidden)
    rows = lax.all_to_all(hidden, "model", split_axis=1, concat_axis=0, tiled=True)
    rows = lax.all_to_all(rows, "model", split_axis=0, concat_axis=1, tiled=True)
    whole = lax.all_gather(down, "model", axis=0, tiled=True)
    part = lax.psum_scatter(
        rows @ down + (x @ x.T) @ x @ whole[: x.shape[1]] * 1e-3,
        "model",
        scatter_dimension=1,
        tiled=True,
    )
    return lax.all_gather(part, "model", axis=1, tiled=True)


@partial(
    jax.shard_map,
    mesh=MESH,
    axis_names={"model"},
    in_specs=(P(), P(None, "model"), P("model", None)),
    out_specs=P(),
)
def one_axis(x, up, down):
    return lax.psum(jnp.tanh(x @ up) @ down, "model")


@partial(
    jax.shard_map,
    mesh=MESH,
    axis_names={"model"},
    in_specs=(P(), P(None, "model"), P("model", None)),
    out_specs=P(),
    check_vma=False,
)
def numbered(x, up, down):
    """Which device it is on along its own axis, in a loop too."""
    hidden = jnp.tanh(x @ up) * (1 + lax.axis_index("model"))

    def turn(i, total):
        return total + i * (1 + lax.axis_index("model")) * hidden

    hidden = lax.fori_loop(0, 3, turn, hidden)
    return 0.1 * lax.psum(hidden @ down, "model")


@partial(
    jax.shard_map,
    mesh=MESH,
    axis_names={"data"},
    in_specs=(P("data"), P(), P()),
    out_specs=P("data"),
    check_vma=False,
)
def numbered_rows(x, up, down):
    """The same along the outer axis, whose devices are not numbered in sequence."""
    return jnp.tanh(x @ up) @ down * (1 + lax.axis_index("data"))


@region(
    in_specs=(P("data"), P("data", "model"), P("model", "data"), P("data")),
    out_specs=P("data"),
    check_vma=False,
)
def gathered(x, up, down, mask):
    """What is gathered and permuted has nothing of the batch, or not along its axis."""
    up = lax.all_gather(up, "data", axis=0, tiled=True)
    down = lax.all_gather(down, "data", axis=1, tiled=True)
    hidden = jnp.tanh(x @ up) * (1 + lax.axis_index("model")) * mask[:, :1]

    def turn(_, total):
        shifted = lax.ppermute(total, "model", [(d, (d + 1) % 4) for d in range(4)])
        return 0.5 * total + shifted

    hidden = lax.fori_loop(0, 3, turn, hidden)
    part = lax.psum_scatter(hidden @ down, "model", scatter_dimension=1, tiled=True)
    return lax.all_gather(part, "model", axis=1, tiled=True)


def fsdp(x, up, down):
    mask = jax.random.bernoulli(jax.random.key(0), 0.5, x.shape)
    return gathered(x, up, down, mask.astype(x.dtype))


def two(x, up, down):
    return mlp(jnp.tanh(mlp(x, up, down)), 0.5 * up, -down)


@region(
    in_specs=(P("data"), P(None, "model"), P("model")),
    out_specs=P("data"),
    check_vma=False,
)
def seeded(x, up, down):
    key = jax.random.fold_in(jax.random.key(0), lax.axis_index("data"))
    x = x * jax.random.normal(key, (1, x.shape[1]))
    return lax.psum(jnp.tanh(x @ up) @ down, "model")


@region(
    in_specs=(P("data"), P(None, "model"), P("model")),
    out_specs=P("data"),
)
def positions(x, up, down):
    x = x * jnp.arange(x.shape[0], dtype=x.dtype)[:, None]
    return lax.psum(jnp.tanh(x @ up) @ down, "model")


@region(
    in_specs=(P("data"), P(None, "model"), P("model"), P("data")),
    out_specs=P(),
)
def inside(x, up, down, y):
    out = lax.psum(jnp.tanh(x @ up) @ down, "model")
    return lax.psum(jnp.sum((out - y) ** 2), "data") / (8 * 16)


@custom_partitioning
def tanh(x):
    return jnp.tanh(x)


tanh.def_partition(partition=lambda mesh, args, results: None)
tanh_with_gradient = jax.custom_vjp(tanh)
tanh_with_gradient.defvjp(
    lambda x: (tanh(x), tanh(x)), lambda y, dy: ((1 - y**2) * dy,)
)


@partial(
    jax.shard_map,
    mesh=MESH,
    axis_names={"model"},
    in_specs=(P(), P(None, "model"), P("model", None)),
    out_specs=P(),
    check_vma=False,
)
def with_library(x, up, down):
    return lax.psum(tanh_with_gradient(x @ up) @ down, "model")


def library(x, up, down):
    return tanh_with_gradient(with_library(x, up, down))


def layers(x, up, down):
    def layer(x, weights):
        return x + mlp(x, *weights), None

    stacked = [jnp.stack([w, 0.5 * w, -w]) for w in (up, down)]
    return lax.scan(layer, x, stacked)[0]


BLOCKS = {"mlp": mlp, "ring": ring, "layers": layers, "partial": one_axis}
BLOCKS |= {"numbered": numbered, "numbered_rows": numbered_rows}
BLOCKS |= {"fsdp": fsdp, "two": two, "seeded": seeded, "positions": positions}
BLOCKS |= {"inside": inside, "library": library}


def step_with(block):
    def step(state, batch):
        def loss_of(state):
            x = batch["x"] @ state["in"]
            if block is inside:
                return block(x, state["up"], state["down"], batch["y"])
            out = block(x, state["up"], state["down"])
            return jnp.mean((out - batch["y"]) ** 2)

        loss, gradients = jax.value_and_grad(loss_of)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), loss

    return step


if __name__ == "__main__":
    kind, form, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    jax.config.update("jax_use_shardy_partitioner", form == "shardy")
    random = np.random.default_rng(0)

    def array(*shape):
        return random.normal(size=shape).astype(np.float32) * 0.3

    state = {"in": array(16, 16), "up": array(16, 32), "down": array(32, 16)}
    batch = {"x": array(8, 16), "y": array(8, 16)}
    train = step_with(BLOCKS[kind])
    module = meshwright.lower(train, state, batch)
    if folder.suffix:
        module.save(folder)
        sys.exit()
    module.save(folder / "step.hlo.pb")
    named = {f"state/{name}": value for name, value in state.items()}
    named |= {f"batch/{name}": value for name, value in batch.items()}
    np.savez(folder / "inputs.npz", **named)
    for _ in range(STEPS):
        state, loss = jax.jit(train)(state, batch)
    np.savez(folder / "after.npz", loss=loss, **state)
