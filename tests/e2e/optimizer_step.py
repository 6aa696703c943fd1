"""optimizer_step.py NAME OUT.hlo.pb: a small attention step with one of optax's optimizers."""

import sys

import jax
import jax.numpy as jnp
import optax

import meshwright

BATCH, LENGTH, WIDTH, WORDS = 16, 24, 32, 64
OPTIMIZERS = {
    "multi_steps": lambda: optax.MultiSteps(optax.adamw(1e-3), 4),
    "adafactor": lambda: optax.adafactor(1e-3, min_dim_size_to_factor=8),
}


def loss(params, batch):
    x = params["words"][batch["x"]]
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    x = (x - mean) * jax.lax.rsqrt(variance + 1e-6) * params["scale"]
    q, k, v = jnp.split(x @ params["qkv"], 3, -1)
    scores = jax.nn.softmax(jnp.einsum("btd,bsd->bts", q, k) / WIDTH**0.5)
    x = x + jnp.einsum("bts,bsd->btd", scores, v) @ params["out"]
    log_p = jax.nn.log_softmax(x @ params["words"].T)
    return -jnp.mean(jnp.take_along_axis(log_p, batch["y"][..., None], -1))


def lower(name, path):
    optimizer = OPTIMIZERS[name]()
    params = {"words": (WORDS, WIDTH), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH)}
    params = {
        key: jnp.zeros(shape) for key, shape in (params | {"scale": (WIDTH,)}).items()
    }

    def step(state, batch):
        value, gradient = jax.value_and_grad(loss)(state["params"], batch)
        updates, inner = optimizer.update(gradient, state["optimizer"], state["params"])
        return {
            "params": optax.apply_updates(state["params"], updates),
            "optimizer": inner,
        }, value

    numbers = jnp.zeros((BATCH, LENGTH), jnp.int32)
    state = {"params": params, "optimizer": optimizer.init(params)}
    meshwright.lower(step, state, {"x": numbers, "y": numbers}, state=0).save(path)


if __name__ == "__main__":
    lower(*sys.argv[1:])
