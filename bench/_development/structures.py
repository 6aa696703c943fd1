"""Graphs, tables of embeddings, sets, physics; and optimizers of their own."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from training import integers, linen_training, struct, training


class Messages(nn.Module):
    @nn.compact
    def __call__(self, nodes, senders, receivers):
        for _ in range(3):
            pairs = jnp.concatenate([nodes[senders], nodes[receivers]], -1)
            messages = nn.relu(nn.Dense(128)(nn.relu(nn.Dense(128)(pairs))))
            arrived = jax.ops.segment_sum(messages, receivers, nodes.shape[0])
            nodes = nodes + nn.Dense(64)(jnp.concatenate([nodes, arrived], -1))
        return nn.Dense(8)(nodes)


def linen_graph_net():
    """One graph whose edges are the data."""
    model = Messages()
    batch = {"nodes": struct(1024, 64), "y": struct(1024, 8)}
    batch |= {"senders": integers(4096), "receivers": integers(4096)}
    arguments = (batch["nodes"], batch["senders"], batch["receivers"])
    params = jax.eval_shape(model.init, jax.random.PRNGKey(0), *arguments)

    def loss_of(params, _, batch):
        out = model.apply(params, batch["nodes"], batch["senders"], batch["receivers"])
        return jnp.mean((out - batch["y"]) ** 2), None

    return training(loss_of, params, batch)


class Recommender(nn.Module):
    @nn.compact
    def __call__(self, inputs):
        dense, sparse = inputs
        tables = [
            nn.Embed(20000, 32, name=f"table_{i}")(sparse[:, i]) for i in range(8)
        ]
        for width in (128, 32):
            dense = nn.relu(nn.Dense(width)(dense))
        stacked = jnp.stack([dense, *tables], 1)
        crossed = jnp.einsum("bid,bjd->bij", stacked, stacked)
        x = jnp.concatenate([dense, crossed.reshape(dense.shape[0], -1)], -1)
        for width in (256, 128):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(1)(x)[:, 0]


def linen_recommender():
    batch = {"x": (struct(512, 13), integers(512, 8)), "y": struct(512)}

    def loss_of(out, batch):
        return jnp.mean(optax.sigmoid_binary_cross_entropy(out, batch["y"]))

    return linen_training(Recommender(), batch, loss_of, optax.adagrad(1e-2))


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (512, 512, 256):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(16)(x)


def roots(matrix, count=6):
    """The inverse square root by Newton's iterations."""
    scale = jnp.linalg.norm(matrix)
    identity = jnp.eye(matrix.shape[0])

    def body(_, pair):
        y, z = pair
        t = (3 * identity - z @ y) / 2
        return y @ t, t @ z

    start = (matrix / scale + 1e-4 * identity, identity)
    return jax.lax.fori_loop(0, count, body, start)[1] / jnp.sqrt(scale)


def shampoo(rate=1e-2):
    """Gradients of matrices between the roots of their second moments."""

    def init(params):
        def moments(p):
            sides = p.shape if p.ndim == 2 else ()
            return [jnp.eye(side) for side in sides]

        return jax.tree.map(moments, params)

    def update(gradients, slots, params=None):
        def one(g, sides):
            if g.ndim != 2:
                return -rate * g, sides
            left, right = sides[0] + g @ g.T, sides[1] + g.T @ g
            return -rate * roots(left) @ g @ roots(right), [left, right]

        leaves, tree = jax.tree.flatten(gradients)
        parts = tree.flatten_up_to(slots)
        both = [one(g, s) for g, s in zip(leaves, parts, strict=True)]
        updates = tree.unflatten([update for update, _ in both])
        return updates, tree.unflatten([sides for _, sides in both])

    return optax.GradientTransformation(init, update)


def linen_perceptron_shampoo():
    batch = {"x": struct(512, 256), "y": struct(512, 16)}

    def loss_of(out, batch):
        return jnp.mean((out - batch["y"]) ** 2)

    return linen_training(Perceptron(), batch, loss_of, shampoo())


def linen_distilled():
    """A small net follows a large one that stays as it is."""
    teacher, student = (
        Perceptron(),
        nn.Sequential([nn.Dense(64), nn.tanh, nn.Dense(16)]),
    )
    batch = struct(1024, 256)
    key = jax.random.PRNGKey(0)
    of_teacher = jax.eval_shape(teacher.init, key, batch)
    of_student = jax.eval_shape(student.init, key, batch)

    def loss_of(params, fixed, batch):
        wanted = jax.nn.softmax(teacher.apply(fixed, batch) / 2)
        log_given = jax.nn.log_softmax(student.apply(params, batch) / 2)
        return -jnp.mean(jnp.sum(wanted * log_given, -1)), fixed

    return training(loss_of, of_student, batch, extra=of_teacher)


def energy_forces():
    """Forces are the energy's gradient, so that a step is a second derivative."""
    width = 128
    params = {"in": struct(3, width), "h": struct(width, width), "out": struct(width)}

    def energy(params, positions):
        apart = positions[:, None] - positions[None]
        x = jnp.tanh(apart @ params["in"])
        return jnp.sum(jnp.tanh(x @ params["h"]) @ params["out"])

    def loss_of(params, _, batch):
        forces = jax.vmap(jax.grad(energy, 1), (None, 0))(params, batch["x"])
        return jnp.mean((forces - batch["y"]) ** 2), None

    batch = {"x": struct(16, 16, 3), "y": struct(16, 16, 3)}
    return training(loss_of, params, batch, optax.contrib.ademamix(1e-3))
