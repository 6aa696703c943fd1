"""scan_steps.py NAME OUT.hlo.pb: lowers a training step whose layers are a loop."""

import functools
import sys

import jax
import jax.numpy as jnp

import meshwright

LAYERS, BATCH, WIDTH, HIDDEN = 6, 16, 32, 128


def block(params, x):
    hidden = jnp.tanh(x @ params["up"].astype(x.dtype))
    gate = jax.nn.sigmoid(x @ params["gate"].astype(x.dtype))
    return x + jax.nn.gelu(hidden * gate) @ params["down"].astype(x.dtype)


def layers(params, x, **options):
    return jax.lax.scan(lambda x, p: (block(p, x), None), x, params, **options)[0]


def plain(params, batch):
    return layers(params["blocks"], batch["x"])


def half(params, batch):
    return layers(params["blocks"], batch["x"].astype(jnp.bfloat16)).astype(jnp.float32)


def backward(params, batch):
    return layers(params["blocks"], batch["x"], reverse=True)


def two_at_a_time(params, batch):
    return layers(params["blocks"], batch["x"], unroll=2)


def dropout(params, batch):
    """The key is carried, and the layer's number mixed in."""

    def layer(carry, xs):
        x, key = carry
        number, p = xs
        key, used = jax.random.split(key)
        keep = jax.random.bernoulli(jax.random.fold_in(used, number), 0.9, x.shape)
        return (jnp.where(keep, block(p, x) / 0.9, 0.0), key), None

    key = jax.random.wrap_key_data(batch["key"])
    numbers = jnp.arange(LAYERS)
    return jax.lax.scan(layer, (batch["x"], key), (numbers, params["blocks"]))[0][0]


def counted(params, batch):
    """Layers are taken by number, from a loop that counts."""

    def layer(x, number):
        p = jax.tree.map(lambda w: w[number], params["blocks"])
        return block(p, x) * (1 + number), None

    return jax.lax.scan(layer, batch["x"], 2 * jnp.arange(LAYERS // 2))[0]


def checkpointed(params, batch):
    def layer(x, p):
        return jax.checkpoint(block)(p, x), None

    return jax.lax.scan(layer, batch["x"], params["blocks"])[0]


def seen_elsewhere(params, batch):
    """What the layers give is an output of its own, too."""

    def layer(x, p):
        y = jnp.tanh(block(p, x))
        return y, y

    x, ys = jax.lax.scan(layer, batch["x"], params["blocks"])
    return x + jnp.sum(ys**2, axis=0)


def two_stacks(params, batch):
    """An encoder, and a decoder that looks at what it gives."""
    encoded = layers(params["blocks"], batch["x"])

    def layer(x, p):
        scores = jax.nn.softmax(x @ encoded.T)
        return x + block(p, scores @ encoded), None

    return jax.lax.scan(layer, batch["y"], params["other"])[0]


def loop_in_layer(params, batch):
    """Every layer has a loop of its own."""

    def layer(x, p):
        def turn(y, _):
            return jnp.tanh(y @ p["turn"]), None

        return block(p, jax.lax.scan(turn, x, None, length=3)[0]), None

    return jax.lax.scan(layer, batch["x"], params["blocks"])[0]


def once(params, batch):
    first = jax.tree.map(lambda w: w[:1], params["blocks"])
    return layers(first, batch["x"])


STEPS = {
    "plain": plain,
    "half": half,
    "backward": backward,
    "two_at_a_time": two_at_a_time,
    "dropout": dropout,
    "counted": counted,
    "checkpointed": checkpointed,
    "seen_elsewhere": seen_elsewhere,
    "two_stacks": two_stacks,
    "loop_in_layer": loop_in_layer,
    "once": once,
}


def gradients_of(loss_of, params, batch, accumulated):
    if not accumulated:
        return jax.value_and_grad(loss_of)(params, batch)
    parts = {k: v.reshape(4, -1, WIDTH) for k, v in batch.items() if k != "key"}

    def part(total, one):
        each = jax.value_and_grad(loss_of)(params, one)
        return jax.tree.map(jnp.add, total, each), None

    zeros = jax.tree.map(jnp.zeros_like, (jnp.float32(0), params))
    return jax.lax.scan(part, zeros, parts)[0]


def step(model, accumulated, state, batch):
    def loss_of(params, part):
        return jnp.mean((model(params, part) - part["y"]) ** 2)

    loss, gradients = gradients_of(loss_of, state["params"], batch, accumulated)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, state["params"], gradients)
    return {"params": params}, loss


def array(*dimensions, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


if __name__ == "__main__":
    name, path = sys.argv[1:]
    blocks = {
        "up": array(LAYERS, WIDTH, HIDDEN),
        "gate": array(LAYERS, WIDTH, HIDDEN),
        "down": array(LAYERS, HIDDEN, WIDTH),
    }
    if name == "loop_in_layer":
        blocks["turn"] = array(LAYERS, WIDTH, WIDTH)
    params = {"blocks": blocks}
    if name == "two_stacks":
        params["other"] = blocks
    batch = {"x": array(BATCH, WIDTH), "y": array(BATCH, WIDTH)}
    if name == "dropout":
        batch["key"] = array(2, dtype=jnp.uint32)
    accumulated = name == "accumulated"
    model = plain if accumulated else STEPS[name]
    fn = functools.partial(step, model, accumulated)
    lowered = meshwright.lower(fn, {"params": params}, batch, names=["state", "batch"])
    lowered.save(path)
