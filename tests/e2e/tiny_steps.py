"""tiny_steps.py NAME OUT.hlo.pb: lowers a training step of few instructions.

Small enough that hundreds can be planned in a minute, each with something of its own.
"""

import sys

import jax
import jax.numpy as jnp

import meshwright

BATCH, WIDTH = 8, 16


def array(*dimensions, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


def attention():
    """Two layers that share a jitted norm, four heads."""

    @jax.jit
    def norm(x):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

    def layer(p, x):
        q, k, v = jnp.einsum("btd,dchk->cbthk", norm(x), p["qkv"])
        scores = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, k))
        x = x + jnp.einsum("bhts,bshk,hkd->btd", scores, v, p["out"])
        return x + jax.nn.silu(norm(x) @ p["up"]) @ p["down"]

    def loss_of(params, batch):
        x = batch["x"]
        for i, p in enumerate(params):
            with jax.named_scope(f"layer_{i}"):
                x = layer(p, x)
        return jnp.mean((x - batch["y"]) ** 2)

    p = {"qkv": array(WIDTH, 3, 4, 4), "out": array(4, 4, WIDTH)}
    p |= {"up": array(WIDTH, 32), "down": array(32, WIDTH)}
    x = array(BATCH, 8, WIDTH)
    return loss_of, [p, p], {"x": x, "y": x}


def convolutions():
    """Strided and plain windows, a batch norm, a pooling."""

    def loss_of(params, batch):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(
            batch["x"], params["first"], (2, 2), "SAME", dimension_numbers=numbers
        )
        mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        x = jax.nn.relu((x - mean) * jax.lax.rsqrt(variance + 1e-5))
        x = jax.lax.conv_general_dilated(
            x, params["second"], (1, 1), "SAME", dimension_numbers=numbers
        )
        x = jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
        out = jnp.mean(x, (1, 2)) @ params["head"]
        return jnp.mean((out - batch["y"]) ** 2)

    params = {"first": array(3, 3, 3, 8), "second": array(3, 3, 8, 8)}
    params["head"] = array(8, 4)
    return loss_of, params, {"x": array(BATCH, 8, 8, 3), "y": array(BATCH, 4)}


def embedding():
    """A tied table: gathered from, and multiplied with."""

    def loss_of(params, batch):
        x = jnp.tanh(params["table"][batch["x"]] @ params["w"])
        scores = jax.nn.log_softmax(x @ params["table"].T)
        return -jnp.mean(jnp.take_along_axis(scores, batch["y"][..., None], -1))

    params = {"table": array(24, WIDTH), "w": array(WIDTH, WIDTH)}
    ids = array(BATCH, 6, dtype=jnp.int32)
    return loss_of, params, {"x": ids, "y": ids}


def experts():
    """Each example goes to one of four experts; sizes are not powers of two."""

    def loss_of(params, batch):
        gates = jax.nn.softmax(batch["x"] @ params["gate"])
        chosen = jax.nn.one_hot(jnp.argmax(gates, -1), 4) * gates
        hidden = jnp.einsum("bd,edh->ebh", batch["x"], params["up"])
        out = jnp.einsum("ebh,ehd,be->bd", jax.nn.gelu(hidden), params["down"], chosen)
        return jnp.mean((out - batch["x"]) ** 2)

    params = {"gate": array(12, 4), "up": array(4, 12, 20), "down": array(4, 20, 12)}
    return loss_of, params, {"x": array(12, 12)}


MODELS = {one.__name__: one for one in (attention, convolutions, embedding, experts)}


def lower(name, path):
    loss_of, params, batch = MODELS[name]()

    def step(state, batch):
        loss, gradients = jax.value_and_grad(loss_of)(state["params"], batch)
        moment = jax.tree.map(lambda m, g: 0.9 * m + g, state["moment"], gradients)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], moment)
        return {"params": params, "moment": moment}, loss

    state = {"params": params, "moment": params}
    meshwright.lower(step, state, batch, state=0).save(path)


if __name__ == "__main__":
    lower(*sys.argv[1:])
